/// Runs a transaction that the store itself begins, and retries if the map is full: by then the map has grown, if it
/// had no other users. Never for a caller's closure, which may have side effects.
///
/// - Parameter times: the number of retries: the map is doubled each time.
package func retryIfMapFull<R, E: Error>(times: Int = 1, _ body: () throws(E) -> R) throws(E) -> R {
  for _ in 0..<times {
    do throws(E) {
      return try body()
    } catch {
      guard (error as? StoreError)?.kind == .mapFull else { throw error }
    }
  }
  return try body()
}
