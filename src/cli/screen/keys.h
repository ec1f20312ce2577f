/* What a key press is: a character, or one of these. */
#ifndef ADA_CLI_SCREEN_KEYS_H
#define ADA_CLI_SCREEN_KEYS_H

#define ADA_KEY_CONTROL(letter) ((letter)&0x1f)
#define ADA_KEY_ENTER '\r'
#define ADA_KEY_ESCAPE 0x1b
#define ADA_KEY_TAB '\t'

enum ada_key {
	ADA_KEY_NONE = 0,      /* the time was over, or the screen's size is another */
	ADA_KEY_UP = 0x110000, /* behind all characters */
	ADA_KEY_DOWN,
	ADA_KEY_LEFT,
	ADA_KEY_RIGHT,
	ADA_KEY_PAGE_UP,
	ADA_KEY_PAGE_DOWN,
	ADA_KEY_HOME,
	ADA_KEY_END,
	ADA_KEY_BACKSPACE,
	ADA_KEY_DELETE,
	ADA_KEY_BACK_TAB,
	ADA_KEY_OVER, /* a signal asks the command to end, or the terminal has gone */
};
#endif
