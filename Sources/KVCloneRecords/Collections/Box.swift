/// A value in memory of its own, so that whatever holds it stays small: a struct that is lent is copied as a whole where the
/// compiler takes it for one value, and a transaction is lent for every object that is read.
package struct Box<Value: ~Copyable>: ~Copyable {
  /// Where it is, as long as this lives.
  package let place: UnsafeMutablePointer<Value>

  package init(_ value: consuming Value) {
    place = .allocate(capacity: 1)
    place.initialize(to: value)
  }

  deinit {
    place.deinitialize(count: 1)
    place.deallocate()
  }

  /// By its address. Coroutines (`_read`) would do, but the optimizer has copied what they lend into their frame, and read it
  /// there after the frame was freed; the address sanitizer told.
  package var value: Value {
    @inline(__always) unsafeAddress { UnsafePointer(place) }
    @inline(__always) nonmutating unsafeMutableAddress { place }
  }

  /// Moves the value out.
  package consuming func take() -> Value {
    let value = place.move()
    place.deallocate()
    discard self
    return value
  }
}
