-- A node runs the pods of one app (label "app"), and the pods of an app run on one node as long as it has room.
depends_on = "node"
normalization = "max"
events = {"Node/Add", "AssignedPod/Delete"}

function filter(pod, node)
  local own = pod.metadata.labels.app
  for _, other in ipairs(node.pods) do
    local app = other.metadata.labels.app
    if own and app and app ~= own then return false, "node(s) run another app" end
  end
  return true
end

function score(pod, node)
  local own, count = pod.metadata.labels.app, 0
  for _, other in ipairs(node.pods) do
    if own and other.metadata.labels.app == own then count = count + 1 end
  end
  return count
end
