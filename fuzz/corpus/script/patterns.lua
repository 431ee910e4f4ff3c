function prefilter(pod) return {"n1", ("n-2"):gsub("%-", "")} end
function score(pod, node)
  local a, b = ("m5.large"):match("^(%w+)%.(%w+)$")
  local s = 0
  for w in ("a b  c"):gmatch("%a+") do s = s + #w end
  s = s + #string.format("%5.2f %q", 1.5, a) + (("x"):rep(3):find("x-", 1, true) or 0)
  local t = {3, 1, 2} table.sort(t, function(x, y) return x < y end)
  return s + t[1] + math.random(10) + select("#", table.unpack(t))
end
function normalize(scores, pod) for n, s in pairs(scores) do scores[n] = math.min(s, 100) end return scores end
