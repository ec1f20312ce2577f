#include "cli/screen/pane.h"
#include "cli/screen/keys.h"

void ada_pane_fit(struct ada_pane *pane, uint64_t count, uint64_t height)
{
	pane->count = count;
	pane->height = height ? height : 1;
	ada_pane_move(pane, pane->cursor);
}

void ada_pane_move(struct ada_pane *pane, uint64_t cursor)
{
	uint64_t last_top = pane->count > pane->height ? pane->count - pane->height : 0;

	pane->cursor = cursor < pane->count ? cursor : pane->count ? pane->count - 1 : 0;
	if (pane->top > last_top)
		pane->top = last_top;
	if (pane->cursor < pane->top)
		pane->top = pane->cursor;
	if (pane->cursor >= pane->top + pane->height)
		pane->top = pane->cursor - pane->height + 1;
}

/* A page further the cursor stays where it was on the screen. */
static void turn_page(struct ada_pane *pane, int64_t rows)
{
	uint64_t by = (uint64_t)(rows < 0 ? -rows : rows);

	if (rows < 0) {
		pane->top = pane->top > by ? pane->top - by : 0;
		ada_pane_move(pane, pane->cursor > by ? pane->cursor - by : 0);
	} else {
		pane->top += by;
		ada_pane_move(pane, pane->cursor + by);
	}
}

bool ada_pane_key(struct ada_pane *pane, int key)
{
	int64_t page = (int64_t)pane->height;

	switch (key) {
	case 'k':
	case ADA_KEY_UP: ada_pane_move(pane, pane->cursor ? pane->cursor - 1 : 0); return true;
	case 'j':
	case ADA_KEY_DOWN: ada_pane_move(pane, pane->cursor + 1); return true;
	case ADA_KEY_CONTROL('B'):
	case ADA_KEY_PAGE_UP: turn_page(pane, -page); return true;
	case ADA_KEY_CONTROL('F'):
	case ADA_KEY_PAGE_DOWN: turn_page(pane, page); return true;
	case ADA_KEY_CONTROL('U'): turn_page(pane, -(page + 1) / 2); return true;
	case ADA_KEY_CONTROL('D'): turn_page(pane, (page + 1) / 2); return true;
	case 'g':
	case ADA_KEY_HOME: ada_pane_move(pane, 0); return true;
	case 'G':
	case ADA_KEY_END: ada_pane_move(pane, UINT64_MAX); return true;
	}
	return false;
}
