// Questions to the server that this page came from. All times are ns from the session's start.

import { answerBaked, baked } from "./baked.js";

const BEING_READ = 202; // ask again: browsers take an error for a fault of the page

export class Failure extends Error {}

// The server has ended where nobody answers.
async function get(path, signal) {
  try {
    return await fetch(path, { signal });
  } catch (error) {
    if (error instanceof TypeError) throw new Failure("`ada view` has ended; run it again.");
    throw error;
  }
}

async function fetchText(path, parameters, signal) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null);
  const query = new URLSearchParams(given.map(([name, value]) => [name, typeof value === "number" ? String(Math.round(value)) : value]));
  let response = await get(`${path}?${query}`, signal);
  while (response.status === BEING_READ) {
    await new Promise((resolve) => { setTimeout(resolve, 200); });
    response = await get(`${path}?${query}`, signal);
  }
  const text = await response.text();
  if (!response.ok) throw new Failure(text.trim());
  return text;
}

export async function ask(path, parameters = {}, signal = undefined) {
  if (baked) return answerBaked(path, parameters);
  return JSON.parse(await fetchText(path, parameters, signal));
}

// A command that answers with an object a line (dump).
export async function askLines(path, parameters, signal) {
  if (baked) return answerBaked(path, parameters);
  return (await fetchText(path, parameters, signal)).trim().split("\n").map((line) => JSON.parse(line));
}

// Runs what it is given, one at a time: a newer run stops the older one. What fails is told, unless it was stopped.
export function latest(run, failed) {
  let controller = null;
  const begin = async (...parameters) => {
    controller?.abort();
    const mine = new AbortController();
    controller = mine;
    try {
      await run(mine.signal, ...parameters);
    } catch (error) {
      if (!mine.signal.aborted) failed(error);
    }
  };
  begin.stop = () => controller?.abort();
  return begin;
}
