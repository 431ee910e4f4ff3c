local kept = {}
for i = 1, 4 do kept[i] = ("x"):rep(60000) .. i end
function score(pod, node)
  local t, n = {}, 0
  for i = 1, 300 do t[i] = {i} end
  pcall(function() while true do n = n + #(("y"):rep(100) .. n) end end)
  return n
end
