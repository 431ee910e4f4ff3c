module berth.dev/bench/soak

go 1.26
