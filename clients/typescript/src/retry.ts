/** When a request is retried, and after how long: the policy of docs/api.md. */
import { setTimeout as wait } from 'node:timers/promises';
import { ApiError, ConversationsError } from './errors.js';

/**
 * How often to retry, and for how long. All times are in milliseconds.
 *
 * Every operation can be repeated, creates included, as they carry their `external_id`. A failure of
 * the service or the network and a 429 are retried up to `retries` times; any other refusal is final.
 * Before each retry comes the time that `Retry-After` asks for, then a random wait of at most
 * `backoffMs`, twice that, four times that, and so on up to `backoffMaxMs`.
 *
 * `timeoutMs` bounds one attempt, from the connection to the last byte of the answer. `budgetMs` bounds
 * all attempts and the waits between them: when a wait would exceed it, the last error is thrown at
 * once. Choose one below your own deadline, such as 5 seconds inside a web request.
 */
export interface RetryPolicy {
  retries: number;
  timeoutMs: number;
  budgetMs: number;
  backoffMs: number;
  backoffMaxMs: number;
}

export const defaultPolicy: RetryPolicy = {
  retries: 5,
  timeoutMs: 30_000,
  budgetMs: 300_000,
  backoffMs: 1_000,
  backoffMaxMs: 30_000,
};

/** Time and jitter, which tests replace. */
export interface Clock {
  /** Milliseconds since any fixed moment. */
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** A number from 0 to 1. */
  jitter(): number;
}

/** Node.js fires a timer at once if its delay is longer than this. */
export const TIMER_MAX_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  async sleep(ms, signal) {
    for (let left = ms; left > 0; left -= TIMER_MAX_MS)
      await wait(Math.min(left, TIMER_MAX_MS), undefined, { signal });
  },
  jitter: Math.random,
};

/** Why there is a retry, and when. */
export interface Retry {
  error: ConversationsError;
  attempts: number;
  waitMs: number;
}

export interface RunOptions {
  policy: RetryPolicy;
  clock: Clock;
  signal: AbortSignal;
  onRetry: ((retry: Retry) => void) | undefined;
}

/** Returns what `attempt` returns, and the number of attempts. It is called with its timeout. */
export async function withRetries<T>(
  attempt: (timeoutMs: number) => Promise<T>,
  { policy, clock, signal, onRetry }: RunOptions,
): Promise<{ value: T; attempts: number }> {
  const deadline = clock.now() + policy.budgetMs;
  for (let attempts = 1; ; attempts++) {
    try {
      const left = Math.max(deadline - clock.now(), 1);
      return { value: await attempt(Math.min(policy.timeoutMs, left)), attempts };
    } catch (error) {
      if (!(error instanceof ConversationsError)) throw error;
      error.attempts = attempts;
      const waitMs = waitAfter(error, attempts, policy, clock);
      if (!error.isTemporary || attempts > policy.retries) throw error;
      if (clock.now() + waitMs >= deadline) throw error;
      onRetry?.({ error, attempts, waitMs });
      await clock.sleep(waitMs, signal).catch((stopped: unknown) => {
        signal.throwIfAborted();
        throw stopped;
      });
    }
  }
}

function waitAfter(error: ConversationsError, attempts: number, policy: RetryPolicy, clock: Clock): number {
  const asked = error instanceof ApiError ? error.retryAfter * 1000 : 0;
  const limit = Math.min(policy.backoffMs * 2 ** (attempts - 1), policy.backoffMaxMs);
  return asked + limit * clock.jitter();
}

/**
 * The seconds that a Retry-After header asks to wait, from `now` in Unix milliseconds. The header holds
 * seconds or a date. The result is 0 when it is absent, in the past, or neither.
 */
export function retryAfterSeconds(retryAfter: string | null, now: number): number {
  const text = retryAfter?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text);
  // Dates in HTTP begin with the day of the week; Date.parse also accepts much else.
  const date = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(date) ? 0 : Math.max((date - now) / 1000, 0);
}
