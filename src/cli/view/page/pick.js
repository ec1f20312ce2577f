// The call that is picked.
import { ask } from "./api.js";
import { change, show, state } from "./state.js";
import { HEAD, layout, ROW } from "./timeline.js";

const scroll = document.getElementById("scroll");

export const isInView = ({ at, duration_ns: lasted = 0 }) => at <= state.to && at + lasted >= state.from;

// Picks the call at an event, and brings it into view where it isn't: one that covers the view is there. False: no call is at the event.
export async function pick(thread, seq, bring = "if hidden") {
  let call;
  try {
    call = await ask("call", { thread, seq });
  } catch (error) {
    document.getElementById("status").textContent = error.message;
    return false;
  }
  const end = call.at + (call.duration_ns ?? 0);
  if (bring === "fit") show(call.at - (end - call.at) * 0.6 - 50, end + (end - call.at) * 0.6 + 50);
  else if (!isInView(call)) show(call.at - (state.to - state.from) / 2, call.at + (state.to - state.from) / 2);
  change({ picked: { thread, seq: call.seq, at: call.at, duration_ns: call.duration_ns, depth: call.depth, call }, tab: "call" });
  const lane = layout.threads.find((each) => each.index === thread);
  const y = lane ? lane.top + HEAD + Math.min(call.depth, lane.rows) * ROW : 0;
  if (lane && (y < scroll.scrollTop || y > scroll.scrollTop + scroll.clientHeight - ROW)) scroll.scrollTop = y - scroll.clientHeight / 2;
  return true;
}
