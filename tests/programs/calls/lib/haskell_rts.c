/* By this name a file of GHC's is known. */
char stg_upd_frame_info[16];
