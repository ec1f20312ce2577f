// What a thread, and an event of it, are called where somebody is to find them again: numbers of threads are their process's own.
import { state } from "./state.js";

export const isOfSeveral = () => state.session.processes.length > 1;

// The index of a process's thread in the session; -1: it isn't there.
export const threadOf = (process, number) => state.session.threads.findIndex((each) => each.process === process && each.number === number);

// As `ada narrate` says it.
export const threadText = (process, number) => `${isOfSeveral() ? `${process} ` : ""}thread ${number}`;

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

// What a shell prints an event with, wherever it is.
export function dumpLine(thread, seq) {
  const path = isOfSeveral() ? `${state.session.path}/${thread.process}` : state.session.path;
  return `ada dump --thread=${thread.number} --seq=${seq}-${seq} --detail ${quoted(path)}`;
}
