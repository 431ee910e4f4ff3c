-- Each team has its own nodes (label "team"), and at most `args.perNode` pods of a team run on one node.
depends_on = "node"

function filter(pod, node)
  local team = pod.metadata.labels.team
  if not team then return true end
  if node.metadata.labels.team ~= team then return false, "node(s) belong to another team", "unresolvable" end
  local count = 0
  for _, other in ipairs(node.pods) do
    if other.metadata.labels.team == team then count = count + 1 end
  end
  return count < args.perNode, "node(s) have enough pods of this team"
end
