package policy

// MayBeJSON is mayBeJSON.
var MayBeJSON = mayBeJSON

// MaxEach is maxEach.
const MaxEach = maxEach
