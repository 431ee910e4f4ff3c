module github.com/berth-scheduler/berth/clients/go

go 1.24
