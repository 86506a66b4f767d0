#if Explorer
  import KVCloneExplorer
  import Synchronization

  /// The memory of whole responses that clients have not yet received: slow clients could keep one for each connection.
  final class ResponseBudget: Sendable {
    /// Shorter responses are not counted.
    static let shortLength = 64 << 10

    private let rest: Mutex<Int>

    /// - Parameter limit: in bytes.
    init(limit: Int) { rest = Mutex(limit) }

    /// Reserves the memory of a response until it is released; returns nil if too many are waiting.
    func reserve(_ byteCount: Int) -> Reservation? {
      if byteCount <= Self.shortLength { return Reservation(budget: self, byteCount: 0) }
      let isFree = rest.withLock { rest in
        guard byteCount <= rest else { return false }
        rest -= byteCount
        return true
      }
      return isFree ? Reservation(budget: self, byteCount: byteCount) : nil
    }

    fileprivate func release(_ byteCount: Int) { rest.withLock { $0 += byteCount } }

    /// A part of the budget, as long as it exists.
    final class Reservation: Sendable {
      private let budget: ResponseBudget
      private let byteCount: Int

      fileprivate init(budget: ResponseBudget, byteCount: Int) {
        (self.budget, self.byteCount) = (budget, byteCount)
      }

      deinit { budget.release(byteCount) }
    }
  }
#endif
