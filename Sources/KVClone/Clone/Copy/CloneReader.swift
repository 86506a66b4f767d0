import KVCloneCore
import KVCloneRecords

/// A read transaction for the sources of a clone, if these are in another store or state than the clones.
final class CloneReader {
  private let box: Box<Session>

  init(_ session: consuming Session) {
    box = Box(session)
  }

  /// The address of the session, valid while this lives.
  var place: UnsafePointer<Session> { UnsafePointer(box.place) }

  var session: Session { unsafeAddress { place } }
}
