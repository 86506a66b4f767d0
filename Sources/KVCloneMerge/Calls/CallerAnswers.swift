import KVCloneModel
import Synchronization

/// The answers of ``MergeOptions/resolve``, which is not called under the write lock (M7): a plan that is made there
/// has the answers that the closure gave for the same conflicts before.
final class CallerAnswers: Sendable {
  private struct Question: Hashable {
    let place: ObjectConflict.Place
    let fingerprint: UInt64
  }

  private struct State {
    var answers: [Question: ConflictAnswer?] = [:]
    var mayAsk = true
    var lacksAnswers = false
  }

  private let closure: @Sendable (ObjectConflict) throws -> ConflictAnswer?
  private let state = Mutex(State())

  init(_ closure: @escaping @Sendable (ObjectConflict) throws -> ConflictAnswer?) {
    self.closure = closure
  }

  func answer(_ conflict: ObjectConflict) throws -> ConflictAnswer? {
    let question = Question(place: conflict.place, fingerprint: conflict.fingerprint)
    let known: ConflictAnswer?? = state.withLock { state in
      if let known = state.answers[question] { return .some(known) }
      if state.mayAsk { return nil }
      state.lacksAnswers = true
      return .some(nil)
    }
    if let known { return known }
    let answer = try closure(conflict)
    state.withLock { state in _ = state.answers.updateValue(answer, forKey: question) }
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
