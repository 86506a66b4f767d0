import KVClone
import KVCloneTestSupport

/// A merge without conflicts, in its most direct form: of each object, value and link, the change of the side that made
/// one.
extension StoreOracle {
  /// Compares the result of a merge without conflicts with what the states before it lead to.
  ///
  /// Orders that both sides changed are not compared.
  static func compareMerge(base: StoreOracle, ours: StoreOracle, theirs: StoreOracle, result: StoreOracle) throws {
    let ids = Set(base.objects.keys).union(ours.objects.keys).union(theirs.objects.keys).union(result.objects.keys)
    for id in ids.sorted() {
      let exists = merged(base.objects[id] != nil, ours.objects[id] != nil, theirs.objects[id] != nil)
      guard exists == (result.objects[id] != nil) else {
        throw StoreDifference("\(id) is \(exists ? "missing" : "left") after a merge")
      }
      guard let object = result.objects[id] else { continue }
      let states = [base, ours, theirs].map { $0.objects[id] }
      for attribute in base.model.attributes(of: object.entity) where !attribute.isDerived {
        let expected: AttributeValue?
        if let before = states[0], let own = states[1], let other = states[2] {
          let name = attribute.name
          expected = merged(before.values[name], own.values[name], other.values[name])
        } else {
          expected = (states[1] ?? states[2])?.values[attribute.name]
        }
        guard object.values[attribute.name] == expected else {
          throw StoreDifference("\(object.entity)/\(id.serial).\(attribute.name) after a merge")
        }
      }
      for relationship in base.model.relationships(of: object.entity) {
        let lists = states.map { ($0?.links[relationship.name] ?? []).filter { result.objects[$0] != nil } }
        try compareLinks(lists, object.links[relationship.name] ?? [], isOrdered: relationship.isOrdered) {
          "\(object.entity)/\(id.serial).\(relationship.name)"
        }
      }
    }
  }

  /// - Parameter lists: the targets that remain, of base, ours and theirs.
  private static func compareLinks(
    _ lists: [[ObjectID]], _ result: [ObjectID], isOrdered: Bool, _ place: () -> String
  ) throws {
    let sets = lists.map { Set($0) }
    let expected = sets.reduce(Set()) { $0.union($1) }.filter { target in
      merged(sets[0].contains(target), sets[1].contains(target), sets[2].contains(target))
    }
    guard Set(result) == expected else {
      throw StoreDifference("\(place()) after a merge has \(result), not \(expected.sorted())")
    }
    guard isOrdered, lists[0] == lists[1] || lists[0] == lists[2] else { return }
    let order = lists[0] == lists[1] ? lists[2] : lists[1]
    if result != order {
      throw StoreDifference("the order of \(place()) after a merge is \(result), not \(order)")
    }
  }

  /// The value of the side that changed it.
  private static func merged<Value: Equatable>(_ base: Value, _ ours: Value, _ theirs: Value) -> Value {
    ours == base ? theirs : ours
  }
}
