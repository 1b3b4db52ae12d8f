/** Freezes a value out of JSON with all that is in it, and gives it back. */
export function freeze<Value>(value: Value): Value {
  // What is no object counts as frozen, and so ends it.
  if (!Object.isFrozen(value)) {
    Object.values(value as object).forEach(freeze);
    Object.freeze(value);
  }
  return value;
}

/** True where two values look the same to the app; all that it is shown came out of JSON. */
export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
