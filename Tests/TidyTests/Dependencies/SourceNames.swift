/// Words of Swift that the parser looks for. They are interned first: a word's number is its raw value.
enum Word: Int32, CaseIterable {
  case `import`, `struct`, `class`, `enum`, `actor`, `protocol`, `extension`, `func`, `var`, `let`, `case`, `typealias`
  case `associatedtype`, `init`, `deinit`, `subscript`, `operator`, `precedencegroup`
  case `private`, `fileprivate`, `internal`, `package`, `public`, `open`, `static`, `final`, `lazy`, `weak`, `unowned`
  case `indirect`, `mutating`, `nonmutating`, `consuming`, `borrowing`, `nonisolated`, `isolated`, `convenience`
  case `required`, `override`, `dynamic`, `inout`, `sending`, `some`, `any`, `each`, `repeat`, `where`, `async`
  case `await`, `throws`, `rethrows`, `try`, `unsafe`, `consume`, `copy`, `self`, `Self`, `super`, `in`, `is`, `as`
  case `if`, `guard`, `else`, `for`, `while`, `switch`, `default`, `return`, `throw`, `catch`, `do`, `defer`, `break`
  case `continue`, `fallthrough`, `nil`, `true`, `false`, `set`, `get`, wildcard, `infix`, `prefix`, `postfix`
  // Names of the standard library that the resolver gives a meaning.
  case `Array`, `Dictionary`, `Set`, `Optional`, `String`, `Int`, `Double`, `Bool`, `Type`, `Protocol`, `Element`
  case `first`, `last`, `makeIterator`, `next`, `key`, `value`, `keys`, `values`, `error`, `newValue`, `oldValue`
  case `enumerated`, `offset`, `element`, `map`, `compactMap`, `flatMap`

  static let all = allCases

  var text: String { self == .wildcard ? "_" : "\(self)" }
}

/// Numbers names, so that they are compared and looked up as integers.
///
/// The table is flat memory because the tidy test runs without the optimizer, which makes nested collections slow.
final class SourceNames {
  private(set) var texts: [String] = []
  private var slots: UnsafeMutablePointer<Slot>
  private let mask: Int

  private struct Slot {
    var hash: UInt64
    var number: Int32
  }

  init() {
    let capacity = 1 << 17
    mask = capacity - 1
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: Slot(hash: 0, number: -1), count: capacity)
    for word in Word.allCases { _ = number(word.text) }
  }

  deinit { slots.deallocate() }

  func number(_ text: String) -> Int32 {
    var text = text
    return text.withUTF8 { number($0.baseAddress!, $0.count) }
  }

  /// The number of a name of `count` bytes. Two names with one 64-bit hash would be confused, which does not happen.
  func number(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    var hash: UInt64 = 14_695_981_039_346_656_037
    var index = 0
    while index < count {
      hash = (hash ^ UInt64(bytes[index])) &* 1_099_511_628_211
      index &+= 1
    }
    var slot = Int(truncatingIfNeeded: hash ^ (hash >> 31)) & mask
    while slots[slot].number >= 0 {
      if slots[slot].hash == hash { return slots[slot].number }
      slot = (slot &+ 1) & mask
    }
    precondition(texts.count < mask / 2, "too many names for the table")
    slots[slot] = Slot(hash: hash, number: Int32(texts.count))
    texts.append(String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self))
    return slots[slot].number
  }
}
