-- NodeMatch once more, as a script: `label` and `othersScore` are in the arguments' field `args`.
depends_on = "node"

local label = args.label
local others_score = args.othersScore or 0

function filter(pod, node)
  local wanted = pod.metadata.labels[label]
  if wanted and node.metadata.labels[label] ~= wanted then
    return false, "node(s) didn't have the pod's " .. label, "unresolvable"
  end
  return true
end

function score(pod, node)
  if not pod.metadata.labels[label] and node.metadata.labels[label] then return others_score end
  return 100
end
