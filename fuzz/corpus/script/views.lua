function filter(pod, node)
  for _, t in ipairs(node.spec.taints) do for k, v in pairs(t) do if v == "" then return false, k end end end
  for _, p in ipairs(node.pods) do if p.requests.cpu_milli > 1 and p.owner == nil and p.spec.nodeSelector.x then return nil, p.metadata.uid end end
  for k, v in pairs(node.status.conditions) do if k ~= "Ready" then error({k, v}) end end
  return node.free["nvidia.com/gpu"] == 0 and #pod.spec.tolerations == 0, ("%s/%d"):format(pod.metadata.name, node.allocatable.pods)
end
