// Names as people say them: what ada_name_short (src/elf/file/spoken.c) does in the other commands.

// Where the parenthesis stands that the last one closes.
function lengthOf(name) {
  for (let at = name.lastIndexOf(")"), open = 0; at >= 0; at--) {
    open += (name[at] === ")") - (name[at] === "(");
    if (!open) return at;
  }
  return name.length;
}

// Behind the last space before `end` that no bracket encloses: there the name begins, behind a template's result.
function withoutType(name, end) {
  let start = 0;
  for (let at = 0, open = 0; at < end; at++) {
    open += "<(".includes(name[at]) - ">)".includes(name[at]);
    if (name[at] === " " && !open) start = at + 1;
  }
  return start;
}

// Where the arguments end that begin at `at`, of a function that another one lies in; -1: the parenthesis belongs to a name.
function endOfArguments(name, at, end) {
  const before = name.slice(0, at);
  if (name[at] !== "(" || !at || name[at - 1] === "{" || name.startsWith("(anonymous", at) || /(operator|lambda)$/.test(before)) return -1;
  for (let closing = at, open = 0; closing < end; closing++) {
    open += (name[closing] === "(") - (name[closing] === ")");
    if (!open) return closing;
  }
  return -1;
}

const OPERATOR = /operator[<>=-]+/y; // brackets that enclose nothing

function shorten(name) {
  const clone = name.indexOf(" [clone "), end = Math.min(lengthOf(name) || name.length, clone < 0 ? name.length : clone);
  let text = "", open = 0;
  for (let at = name.includes("<") && !name.includes("operator ") ? withoutType(name, end) : 0; at < end; at++) {
    OPERATOR.lastIndex = at;
    const whole = open ? null : OPERATOR.exec(name), argumentsEnd = open ? -1 : endOfArguments(name, at, end);
    if (whole) {
      text += whole[0];
      at += whole[0].length - 1;
    } else if (argumentsEnd >= 0) {
      at = argumentsEnd;
    } else if (!open && name.startsWith("[abi:", at) && name.includes("]", at)) {
      at = name.indexOf("]", at);
    } else if (name[at] === "<") {
      if (!open++) text += "<..>";
    } else if (name[at] === ">") {
      open -= open > 0;
    } else if (!open) {
      text += name[at];
    }
  }
  return text || name;
}

const STATE = "std::thread::_State_impl<std::thread::_Invoker<std::tuple<";

// The lambda that std::thread runs by that function of its own, as a function's name; else the name itself.
function ofThread(name) {
  if (!name.startsWith(STATE) || !name.includes("::_M_run")) return name;
  let end = STATE.length;
  for (let open = 0; end < name.length && (open || !",>".includes(name[end])); end++) {
    open += "<({".includes(name[end]) - ">)}".includes(name[end]);
  }
  return name[end - 1] === "}" ? `${name.slice(STATE.length, end)}()` : name;
}

const known = new Map();

export function shortName(name) {
  if (!known.has(name)) known.set(name, shorten(ofThread(name)));
  return known.get(name);
}
