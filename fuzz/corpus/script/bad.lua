local kept = {}
function filter(pod, node)
  pcall(function() kept.x = 1 end)
  pcall(function() while true do end end)
  local s = "x" while true do s = s .. s end
end
