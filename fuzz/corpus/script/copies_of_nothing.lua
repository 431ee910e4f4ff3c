depends_on = "cycle"
function filter(pod, node) return #(""):rep(1 << 62, "") == 0 end
