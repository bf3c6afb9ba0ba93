package policy

// MayBeJSON is mayBeJSON.
var MayBeJSON = mayBeJSON
