import KVCloneLMDB
import KVCloneModel
import Synchronization

/// The answers of ``MergeOptions/resolve``, which is not called under the write lock (M7): a plan that is made there
/// has the answers that the closure gave for the same conflicts before.
final class CallerAnswers: Sendable {
  private struct State {
    /// The address of each answer in `records`, by its conflict.
    let addresses: ScratchMap<WideHash, UInt64>
    let records: ScratchRecords
    var mayAsk = true
    var lacksAnswers = false
  }

  private let closure: @Sendable (ObjectConflict) throws -> ConflictAnswer?
  private let state: Mutex<State>

  /// - Parameter scratchDirectory: the directory of a temporary file for many answers.
  init(
    _ closure: @escaping @Sendable (ObjectConflict) throws -> ConflictAnswer?,
    scratchDirectory: String
  ) {
    self.closure = closure
    let space = ScratchSpace(directory: scratchDirectory)
    state = Mutex(State(addresses: ScratchMap(in: space), records: ScratchRecords(in: space)))
  }

  func answer(_ conflict: ObjectConflict) throws -> ConflictAnswer? {
    let question = WideHash { hasher in
      hasher.combine(conflict.place)
      hasher.combine(conflict.fingerprint)
    }
    let known: ConflictAnswer?? = state.withLock { state in
      if let address = state.addresses[question] {
        var reader = state.records.reader(at: address)
        return .some(reader.answer())
      }
      if state.mayAsk { return nil }
      state.lacksAnswers = true
      return .some(nil)
    }
    if let known { return known }
    let answer = try closure(conflict)
    try state.withLock { state in
      try state.addresses.set(question, to: state.records.end)
      try state.records.append(answer)
    }
    return answer
  }

  /// Runs `body` without calling the closure. Returns nil if it would have been called.
  func withoutAsking<R>(_ body: () throws -> R) rethrows -> R? {
    state.withLock { state in (state.mayAsk, state.lacksAnswers) = (false, false) }
    defer { state.withLock { state in state.mayAsk = true } }
    let result = try body()
    return state.withLock { state in state.lacksAnswers } ? nil : result
  }
}
