module github.com/fairlane/fairlane/contrib/go

go 1.21
