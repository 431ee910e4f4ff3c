module upstream

go 1.26
