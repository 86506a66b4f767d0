import Synchronization

/// Values that features keep with a schema or a store, each created on first use: compiled rules, measured speeds.
package final class Attachments: Sendable {
  private let values = Mutex<[ObjectIdentifier: any Attachment]>([:])

  /// The value of a type.
  package func value<Value: Attachment>(of type: Value.Type) -> Value {
    values.withLock { values in
      if let known = values[ObjectIdentifier(type)] as? Value { return known }
      let made = Value()
      values[ObjectIdentifier(type)] = made
      return made
    }
  }
}

/// A value that a feature keeps with a schema or a store.
package protocol Attachment: AnyObject, Sendable {
  init()
}
