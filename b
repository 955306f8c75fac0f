(;FF[4]AP[jubango:0.2.0]CA[UTF-8]GM[4]GN[jubango]HA[0]JG[tic_tac_toe]OT[none]
SZ[3]TM[0])
