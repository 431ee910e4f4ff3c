module berth-clients-scheduler

go 1.26
