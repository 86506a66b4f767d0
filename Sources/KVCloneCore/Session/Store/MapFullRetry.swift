/// Runs a transaction that the store itself begins, and once more where it met the map's end: by then the map has grown, if
/// nobody else was using it. Never for a caller's closure, which may have done more than write here.
///
/// - Parameter times: how often: the map is doubled each time.
package func onceMoreIfMapFull<R, E: Error>(times: Int = 1, _ body: () throws(E) -> R) throws(E) -> R {
  for _ in 0..<times {
    do throws(E) {
      return try body()
    } catch {
      guard (error as? StoreError)?.kind == .mapFull else { throw error }
    }
  }
  return try body()
}
