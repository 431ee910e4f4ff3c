depends_on = "node"
annotations = {"team/"}
events = {"Node/Add", "Pod/*"}
normalization = "max"
local function zone_of(node) return node.metadata.labels.zone or "" end
function filter(pod, node)
  if node.free.cpu_milli < pod.requests.cpu_milli then return false, "full", "unresolvable" end
  return zone_of(node) == args.zone, "not in zone " .. args.zone
end
function score(pod, node)
  local n = 0
  for _, other in ipairs(node.pods) do if other.metadata.labels.app == "web" then n = n + 1 end end
  for k, v in pairs(node.metadata.labels) do n = n + #k + (tonumber(v) or 0) end
  return n
end
