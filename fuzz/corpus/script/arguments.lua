local function pass(n, ...) if n == 0 then return select("#", ...) end return pass(n - 1, 1, 2, 3, 4, ...) end
function score(pod, node) return (pcall(pass, 200)) and select("#", ("a"):rep(90):byte(1, -1)) or 0 end
function prefilter(pod)
  local t = {} for i = 1, 40 do t[i] = {name = "n" .. i % 7, i = i} end
  table.sort(t, function(a, b) return a.name < b.name end)
  local names = {} for i, e in ipairs(t) do names[i] = e.name end
  return names
end
