/* A pager for long text, by git's rules: $ADA_PAGER, else $PAGER, else less; "" or cat: none. Only where standard output is a terminal that
 * can do it (TERM). less quits by itself where the text fits the screen (LESS=FRX, unless the user has set LESS).
 *
 * The pager reads what the command writes to standard output. The command waits for it at its end. */
#ifndef ADA_CLI_PAGER_H
#define ADA_CLI_PAGER_H

void ada_pager_open(void); /* where it can't be started, nothing happens */
#endif
