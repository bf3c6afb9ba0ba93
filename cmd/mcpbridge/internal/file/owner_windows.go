package file

import "io/fs"

// keepOwner does nothing: who may use a file comes from its folder.
func keepOwner(string, fs.FileInfo) error { return nil }
