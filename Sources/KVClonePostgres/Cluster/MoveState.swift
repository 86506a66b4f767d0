#if Postgres
  import KVCloneCore

  /// The part of a store's row in a move between clusters, in its column `state`: 0 for a store in use. The column
  /// `move` has the id of the last move.
  enum MoveState {
    /// A copy is being made here, and the store is in use at its old place.
    static let arriving: Int64 = 1
    /// The store is in use at its new place. The row refuses processes that look for it here.
    static let moved: Int64 = 2
    /// The copy is complete. The old place decides whether it is the store: it has the same id of the move, and is
    /// marked as moved.
    static let arrived: Int64 = 3
    /// Added to `arriving` and `arrived` if the store was moved away from here before: the marker returns if the move
    /// fails.
    static let replacesMarker: Int64 = 4

    /// The state without its addition.
    static func part(of state: Int64) -> Int64 { state & 3 }

    /// The id, the state and the move of a store, by its name.
    static let ofStore = "SELECT id, state, move FROM kvclone.store WHERE name = $1"

    /// The error for using a store in a state; nil for a store in use.
    static func refusal(_ state: Int64, _ name: String) -> StoreError? {
      if state <= 0 { return nil }
      if part(of: state) == moved {
        return StoreError(
          .storeMoved,
          "the store \(name) was moved to another cluster; open it there, or delete its marker here "
            + "(kvclone cluster drop --marker) to use the name again")
      }
      return StoreError(
        .busy,
        "the store \(name) arrives here by a move that has not ended; wait, or repeat the move if it was interrupted")
    }

    /// The error for deleting a store in a state, or the marker of one; nil if it can be deleted.
    static func refusal(_ state: Int64, _ name: String, deletingMarker: Bool) -> StoreError? {
      switch part(of: state) {
      case moved where deletingMarker: return nil
      case _ where deletingMarker:
        return StoreError(
          .storeNotFound,
          "the store \(name) was not moved away from this cluster; delete it with drop, or check the name")
      // Deletes an incomplete copy. A complete one can be the only one.
      case arriving: return nil
      default: return refusal(state, name)
      }
    }
  }
#endif
