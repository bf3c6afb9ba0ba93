package main

// ledgerFolder is the folder of the ledgers of configs that name no file, in that of the program's state.
const ledgerFolder = "ledgers"
