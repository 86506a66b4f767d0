import Foundation
import KVCloneCoreData
import KVCloneModel
import KVCloneTestSupport
import Testing

/// MOCloner's eight cases on its own model, for the reference cloner alone.
@Suite(.enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)))
struct ReferenceClonerTests {
  let model: ModelView
  let noteID = UUID()

  init() throws {
    let path = try #require(Corpus.modelBundle("fatbobman__MOCloner/Model.xcdatamodeld"))
    model = ModelView(try ManagedObjectModel.load(contentsOf: path).model)
  }

  /// Returns one note, linked to `items`.
  private func graph(items: Int = 0, entity: String = "Item", to relationship: String = "items") -> ReferenceGraph {
    var graph = ReferenceGraph()
    graph.add("Note/1", ["name": "n", "data": .binary(Data([1, 2])), "derived": 7, "id": .uuid(noteID)])
    for index in 0..<items {
      let label = Label(entity, index + 1)
      graph.add(
        label, entity == "Item" ? ["name": "i", "noteIDBlank": .uuid(noteID), "noteIDKeep": .uuid(noteID)] : [:])
      graph.link("Note/1", relationship, label, model: model)
    }
    return graph
  }

  @Test func case1_singleNote() throws {
    let clone = try ReferenceCloner.clone(["Note/1"], in: graph(), model: model)
    #expect(clone.after.counts == ["Note": 2])
    #expect(clone.after["Note/2"]?.attributes == ["name": "n", "data": .binary(Data([1, 2])), "derived": 7])
    #expect(clone.symbols == ["Note/2": ["id": .fresh("Note/2", "id"), "createDate": .now]])
    #expect(clone.affectedObjectIDs.isEmpty)
  }

  @Test func case2_tenItems() throws {
    let clone = try ReferenceCloner.clone(["Note/1"], in: graph(items: 10), model: model)
    #expect(clone.after.counts == ["Note": 2, "Item": 20])
    #expect(clone.after["Note/2"]?.targets("items") == (11...20).map { Label("Item", $0) })
    for serial in 11...20 {
      let item = Label("Item", serial)
      #expect(clone.after[item]?.targets("note") == ["Note/2"])
      #expect(
        clone.symbols[item] == ["noteIDBlank": .fresh("Note/2", "id"), "noteIDKeep": .fresh("Note/2", "id")])
      // `index` is excluded and has a default.
      #expect(clone.after[item]?.attributes == ["name": "i", "index": 0])
    }
  }

  @Test func case3_oneToOne() throws {
    let before = graph(items: 1, entity: "NoteDescription", to: "noteDescription")
    let clone = try ReferenceCloner.clone(["Note/1"], in: before, model: model)
    #expect(clone.after["Note/2"]?.targets("noteDescription") == ["NoteDescription/2"])
    #expect(clone.after["NoteDescription/2"]?.targets("note") == ["Note/2"])
    #expect(clone.after["NoteDescription/1"]?.targets("note") == ["Note/1"])
  }

  @Test func case4_sharedTag() throws {
    var before = ReferenceGraph([ReferenceObject("Item/1"), ReferenceObject("ToOneTag/1")])
    before.link("Item/1", "toOneTag", "ToOneTag/1", model: model)
    let clone = try ReferenceCloner.clone(["Item/1"], in: before, model: model)
    #expect(clone.after.counts == ["Item": 2, "ToOneTag": 1])
    #expect(clone.after["Item/2"]?.targets("toOneTag") == ["ToOneTag/1"])
    #expect(clone.after["ToOneTag/1"]?.targets("items") == ["Item/1", "Item/2"])
    #expect(clone.affectedObjectIDs == ["ToOneTag/1"])
  }

  @Test func case5_twoToOneTags() throws {
    var before = graph(items: 20)
    for serial in 1...2 { before.add(Label("ToOneTag", serial)) }
    for serial in 1...20 {
      before.link(Label("Item", serial), "toOneTag", Label("ToOneTag", serial % 2 + 1), model: model)
    }
    let clone = try ReferenceCloner.clone(["Note/1"], in: before, model: model)
    for serial in 1...2 { #expect(clone.after[Label("ToOneTag", serial)]?.targets("items").count == 20) }
    #expect(clone.after.validate(model).isEmpty)
  }

  @Test func case6_manyToManyTags() throws {
    var before = graph(items: 15)
    for serial in 1...2 { before.add(Label("ToManyTag", serial)) }
    for serial in 1...10 { before.link(Label("Item", serial), "toManyTags", "ToManyTag/1", model: model) }
    for serial in 6...15 { before.link(Label("Item", serial), "toManyTags", "ToManyTag/2", model: model) }
    let clone = try ReferenceCloner.clone(["Note/1"], in: before, model: model)
    for serial in 1...2 { #expect(clone.after[Label("ToManyTag", serial)]?.targets("items").count == 20) }
    let tags = (16...30).compactMap { clone.after[Label("Item", $0)]?.targets("toManyTags") }
    let both: [Label] = ["ToManyTag/1", "ToManyTag/2"]
    #expect(tags.filter { $0 == ["ToManyTag/1"] }.count == 5)
    #expect(tags.filter { $0 == ["ToManyTag/2"] }.count == 5)
    #expect(tags.filter { $0 == both }.count == 5)
  }

  @Test func case7_orderedMemos() throws {
    var before = graph()
    let order = [3, 1, 4, 10, 5, 9, 2, 6, 8, 7]
    for serial in order {
      before.add(Label("Memo", serial), ["text": .string("\(serial)")])
      before.link("Note/1", "memos", Label("Memo", serial), model: model)
    }
    let clone = try ReferenceCloner.clone(["Note/1"], in: before, model: model)
    #expect(clone.after["Note/2"]?.targets("memos") == order.map { Label("Memo", $0 + 10) })
    #expect(clone.after["Memo/13"]?.attributes == ["text": "3"])
  }

  @Test func case8_itemWithoutNote() throws {
    var options = ReferenceCloneOptions()
    options.excludedRelationshipNames = ["note"]
    let clone = try ReferenceCloner.clone(["Item/1"], in: graph(items: 1), model: model, options: options)
    #expect(clone.after["Item/2"]?.targets("note") == [])
    #expect(clone.after["Item/2"]?.attributes == ["name": "i", "index": 0, "noteIDKeep": .uuid(noteID)])
    #expect(clone.after["Note/1"]?.targets("items") == ["Item/1"])
    #expect(clone.after.counts == ["Note": 1, "Item": 2])
  }
}
