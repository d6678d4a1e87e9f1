num_pes: 256
l1_size_cstr: 512 // words
NoC_NumHops: 2
