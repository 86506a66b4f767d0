import Foundation
import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// Plans of merges, the answers of their conflicts, and merges that a page runs.
@Suite("Explorer: merges of branches", .bounded) struct MergePageTests {
  private static let publish = "/branches/spring/publish"

  /// The JSON of the only conflict, as the form of the page has it.
  private func conflict(_ page: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
    let match = page.firstMatch(of: /name="conflict\.0" value="([^"]*)"/)
    return String(try #require(match, sourceLocation: sourceLocation).1).unescaped
  }

  /// The form of the page with an answer.
  private func form(_ page: String, _ choice: String, value: String = "", action: String = "merge") throws -> String {
    let conflict = try conflict(page).encoded
    // A read-only page has no key.
    let key = page.firstMatch(of: /name="key" value="([^"]*)"/).map { String($0.1) } ?? ""
    return "do=\(action)&key=\(key)&conflict.0=\(conflict)&choice.0=\(choice)&value.0=\(value.encoded)"
  }

  // MARK: Plans

  @Test("a plan shows base, ours and theirs of conflicts, and the result of changes")
  func plan() async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    let json = try await client.json(Self.publish)
    #expect(json["merged"] as? Bool == false && json["canMerge"] as? Bool == false)
    #expect(json["conflictCount"] as? Int == 1)
    let conflict = try #require((json["conflicts"] as? [[String: Any]])?.first)
    #expect(conflict["kind"] as? String == "bothChanged" && conflict["property"] as? String == "title")
    #expect(conflict["object"] as? String == library.object(library.shared))
    #expect(conflict["base"] as? String == BranchLibrary.baseTitle)
    #expect(conflict["ours"] as? String == BranchLibrary.storeTitle)
    #expect(conflict["theirs"] as? String == BranchLibrary.branchTitle)
    let changes = try #require(json["changes"] as? [[String: Any]])
    let kinds = Dictionary(
      changes.map { ($0["object"] as? String ?? "", $0["change"] as? String) }, uniquingKeysWith: { $1 })
    #expect(kinds[library.object(library.inserted)] == "inserted")
    #expect(kinds[library.object(library.deleted)] == "deleted")
    #expect(kinds[library.object(library.shared)] == "changed" && kinds[library.object(library.other)] == nil)
    let page = await client.page(Self.publish)
    #expect(page.contains("ours: store") && page.contains("theirs: spring") && page.contains("type=\"radio\""))
    #expect(!page.contains("<script>alert"))
    for cover in ["?branch=spring&amp;at=%40base", "?branch=spring", ""] {
      #expect(page.contains("src=\"/objects/Book/1/blob/cover\(cover)\""), "\(cover)")
    }
    let csv = await client.page(Self.publish + ".csv")
    #expect(csv.contains("conflict,Book/1,bothChanged,title,\(BranchLibrary.baseTitle),\(BranchLibrary.storeTitle),"))
  }

  @Test("a plan near the limit of the file says so, and does not run the merge", .needsDataFile(.sizes))
  func nearLimit() async throws {
    let library = try BranchLibrary(hasConflict: false)
    let notice = "may not fit into the file"
    #expect(await !ExplorerClient(library.store).page(Self.publish).contains(notice))
    var options = StoreOptions()
    // Less than any merge needs.
    options.maximumFileBytes = try library.store.info().fileBytes
    try library.files.reopen(options: options)
    let client = ExplorerClient(library.store)
    #expect(await client.page(Self.publish).contains(notice))
    #expect(try await client.json(Self.publish)["canMerge"] as? Bool == true)
    #expect(try !library.store.branches.planPublish("spring").canMerge)
  }

  @Test("an update has the branch as ours")
  func update() async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    let json = try await client.json("/branches/spring/update")
    let conflict = try #require((json["conflicts"] as? [[String: Any]])?.first)
    #expect(conflict["ours"] as? String == BranchLibrary.branchTitle)
    #expect(conflict["theirs"] as? String == BranchLibrary.storeTitle)
    let page = await client.page("/branches/spring/update")
    #expect(page.contains("ours: spring") && page.contains("theirs: store"))
    let response = await client.post("/branches/spring/update", try form(page, "ours"))
    #expect(response.status == 303)
    #expect(try library.title() == BranchLibrary.storeTitle)
    #expect(try library.title(onBranch: true) == BranchLibrary.branchTitle)
    #expect(await client.page(try #require(response.header("Location"))).contains("Updated spring"))
    try checked(library.store)
  }

  @Test("without changes, nothing is to be merged")
  func nothing() async throws {
    let files = try TestStore(snapshotModel)
    try await files.store.branches.create("spring")
    let client = ExplorerClient(files.store) { $0.allowsWrites = true }
    #expect(await client.page(Self.publish).contains("Nothing to merge"))
    let response = await client.post(Self.publish, "do=merge&key=k")
    #expect(await client.page(try #require(response.header("Location"))).contains("Nothing was changed"))
    #expect(try files.store.snapshots().isEmpty)
  }

  @Test("policies and rules of the query answer conflicts")
  func rules() async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store)
    for query in ["policy=ours", "policy=theirs", "rule=Book.title%3Dours", "rule=Book%3Dtheirs%20Tag%3Dours"] {
      let json = try await client.json("\(Self.publish)?\(query)")
      #expect(json["canMerge"] as? Bool == true && json["resolvedCount"] as? Int == 1, "\(query)")
    }
    #expect(await client.page("\(Self.publish)?policy=ours").contains("by the rules: ours"))
    for query in ["policy=x", "rule=Book.title", "rule=Book.title%3Dx", "conflicts=-1", "changes=x"] {
      #expect(await client.send("GET", "\(Self.publish)?\(query)").status == 400, "\(query)")
    }
    #expect(await client.send("GET", "\(Self.publish)?rule=Missing.x%3Dours").status == 422)
  }

  // MARK: Answers

  @Test("M12: an answer of the form becomes the JSON of an answered conflict in the URL")
  func answers() async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store)
    let page = await client.page(Self.publish)
    let redirect = await client.send("GET", "\(Self.publish)?\(try form(page, "theirs", action: "plan"))")
    let target = try #require(redirect.header("Location"))
    #expect(redirect.status == 303 && target.contains("answer=") && !target.contains("choice"))
    let json = try await client.json(target)
    #expect(json["canMerge"] as? Bool == true && json["conflictCount"] as? Int == 0)
    let answers = try #require(json["answers"] as? [Any])
    let data = try JSONSerialization.data(withJSONObject: try #require(answers.first))
    let answer = try JSONDecoder().decode(AnsweredConflict.self, from: data)
    let open = try #require(try library.conflicts().first)
    #expect(answer.answer == .theirs && answer.conflict.fingerprint == open.fingerprint)
    let answered = await client.page(target)
    #expect(answered.contains("value=\"theirs\" checked"))
    // No answer removes it.
    let removed = await client.send(
      "GET", "\(target)&\(try form(answered, "", action: "plan"))")
    #expect(removed.header("Location") == Self.publish)
  }

  @Test("answers survive as JSON, whatever their values are")
  func roundTrip() throws {
    let library = try BranchLibrary()
    let conflict = try #require(try library.conflicts().first)
    let values: [ConflictAnswer] = [
      .ours, .theirs, .refuse, .attribute(nil), .attribute(.string("\"<&>\u{202E}\n")), .attribute(.double(.infinity)),
      .attribute(.integer(.min)), .attribute(.date(Date(timeIntervalSinceReferenceDate: 0.1))),
      .attribute(.binary(Data([0, 255]))), .object(nil), .object(library.shared),
      .order([library.shared, library.other]),
    ]
    for value in values {
      let text = AnswerText.text(AnsweredConflict(conflict, value))
      let read = try AnswerText.decode(text, as: AnsweredConflict.self)
      #expect(read.answer == value && read.conflict.isSame(as: conflict))
      #expect(read.conflict.fingerprint == conflict.fingerprint && !text.contains(BranchLibrary.baseTitle))
    }
  }

  @Test("M12: the line breaks of an answer survive the form, as browsers send it", arguments: ["a\nb", "\na\r\nb\n"])
  func lines(_ text: String) async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    let conflict = try #require(try library.conflicts().first)
    let answer = AnswerText.text(AnsweredConflict(conflict, .attribute(.string(text)))).encoded
    let page = await client.page("\(Self.publish)?answer=\(answer)")
    let shown = try #require(page.firstMatch(of: /<textarea [^>]*>\n((?s).*?)<\/textarea>/)).1
    #expect(shown.unicodeScalars.elementsEqual(text.unicodeScalars.map { $0 == "\r" ? "␍" : $0 }))
    let sent = String(shown).replacing("\n", with: "\r\n")
    let response = await client.post(Self.publish, "answer=\(answer)&" + (try form(page, "value", value: sent)))
    #expect(response.status == 303)
    #expect(try library.title() == text)
  }

  @Test("malformed answers and choices that the conflict does not have are refused")
  func malformed() async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    let page = await client.page(Self.publish)
    for query in ["answer=x", "answer=%7B%7D", "conflict.0=%5B%5D&choice.0=ours", "answer=%22%3Cscript%3Ealert%22"] {
      let response = await client.send("GET", "\(Self.publish)?\(query)")
      #expect(response.status == 400 && !response.text.contains("<script>alert"), "\(query)")
    }
    #expect(await client.post(Self.publish, try form(page, "x")).status == 400)
    let object = try conflict(page).replacing("bothChanged", with: "deletedOurs").encoded
    #expect(await client.send("GET", "\(Self.publish)?conflict.0=\(object)&choice.0=value&value.0=x").status == 400)
    #expect(await client.post(Self.publish, "do=merge&policy=theirs").status == 400)
    #expect(try library.title() == BranchLibrary.storeTitle)
  }

  // MARK: Merges

  @Test("a merge with the answer of the form, and its undo on both sides", arguments: ["ours", "theirs", "value"])
  func merge(choice: String) async throws {
    let library = try BranchLibrary()
    let store = library.store
    let client = ExplorerClient(store) { $0.allowsWrites = true }
    let page = await client.page(Self.publish)
    let response = await client.post(Self.publish, try form(page, choice, value: "a third title"))
    #expect(response.status == 303, "\(response.text.prefix(500))")
    let expected = [
      "ours": BranchLibrary.storeTitle, "theirs": BranchLibrary.branchTitle, "value": "a third title",
    ][choice]
    #expect(try library.title() == expected)
    #expect(try library.title(onBranch: true) == expected)
    #expect(try library.exists(library.inserted))
    #expect(try !library.exists(library.deleted))
    let target = try #require(response.header("Location"))
    let result = await client.page(target)
    #expect(result.contains("Published spring") && result.contains("Roll the store back"))
    #expect(result.contains("Roll spring back") && !result.contains("<script>alert"))
    #expect(try await client.json(target)["merged"] as? Bool == true)
    let undo = try #require(result.firstMatch(of: /href="(\/rollback\/[^"?]+)"/)).1
    #expect(await client.post(String(undo)).status == 303)
    #expect(try library.title() == BranchLibrary.storeTitle)
    #expect(try library.exists(library.deleted))
    #expect(try !library.exists(library.inserted))
    try checked(store)
  }

  @Test("M8: after a publish that moves only the branch, the rollback of the branch is offered")
  func onlyTheBranch() async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    try await library.store.branches.publish(BranchLibrary.name, options: MergeOptions(policy: .theirs))
    try library.setTitle("later")
    let response = await client.post(Self.publish, "do=merge&key=k")
    #expect(response.status == 303, "\(response.text.prefix(500))")
    let result = await client.page(try #require(response.header("Location")))
    #expect(result.contains("Roll spring back") && !result.contains("Roll the store back"))
    let undo = try #require(result.firstMatch(of: /href="(\/rollback\/[^"]+)"/)).1
    #expect(await client.send("GET", String(undo).replacing("&amp;", with: "&")).status == 200)
    #expect(try library.title(onBranch: true) == "later")
  }

  @Test("a form that is sent twice merges once")
  func twice() async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    let form = try form(await client.page(Self.publish), "theirs")
    let first = await client.post(Self.publish, form)
    try library.setTitle("changed after the merge")
    let second = await client.post(Self.publish, form)
    #expect(first.status == 303 && first.header("Location") == second.header("Location"))
    #expect(try library.title() == "changed after the merge")
  }

  @Test("M7: a merge with open conflicts is refused, and shows them")
  func refused() async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    let response = await client.post(Self.publish, "do=merge&key=k")
    #expect(response.status == 409 && response.text.contains("role=\"alert\""))
    #expect(response.text.contains("name=\"conflict.0\"") && response.text.contains("nothing was written"))
    #expect(try library.title() == BranchLibrary.storeTitle)
    #expect(try !library.exists(library.inserted))
    #expect(try library.store.snapshots().map(\.name) == ["first"])
    let json = await client.send(
      "POST", "\(Self.publish).json",
      [("Origin", "http://\(ExplorerClient.host)"), ("Content-Type", "application/x-www-form-urlencoded")],
      body: "do=merge&key=k")
    #expect(json.status == 409 && json.text.contains("mergeConflicts"))
  }

  @Test("M12: an answer that no longer fits is not applied, and the new plan is shown")
  func stale() async throws {
    let library = try BranchLibrary()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    let form = try form(await client.page(Self.publish), "theirs")
    try library.setTitle("changed since the plan")
    let response = await client.post(Self.publish, form)
    #expect(response.status == 409 && response.text.contains("no longer fit"))
    // Changed words are marked.
    #expect(response.text.replacing(#/<[^>]*>/#, with: "").contains("changed since the plan"))
    #expect(try library.title() == "changed since the plan")
    let url = await client.send("GET", "\(Self.publish)?\(form.replacing("do=merge", with: "do=plan"))")
    let json = try await client.json(try #require(url.header("Location")))
    #expect((json["stale"] as? [Any])?.count == 1 && (json["answers"] as? [Any])?.isEmpty == true)
    #expect(json["conflictCount"] as? Int == 1)
  }

  @Test("M13: chosen objects are published, and the others stay on the branch")
  func chosen() async throws {
    let library = try BranchLibrary(hasConflict: false)
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    let page = await client.page("\(Self.publish)?object=\(library.object(library.inserted).encoded)")
    #expect(page.contains("Only these objects are published"))
    #expect(page.contains("name=\"object\" value=\"\(library.object(library.inserted))\""))
    let response = await client.post(
      Self.publish, "do=merge&key=k&object=\(library.object(library.inserted).encoded)")
    #expect(response.status == 303, "\(response.text.prefix(500))")
    #expect(try library.exists(library.inserted) && library.exists(library.deleted))
    #expect(try library.title() == BranchLibrary.baseTitle)
    #expect(try library.title(onBranch: true) == BranchLibrary.branchTitle)
    #expect(await client.send("GET", "\(Self.publish)?object=%3Cscript%3E").status == 400)
    let many = (0...MergeForm.maximumObjects).map { "object=Book%2F\($0)" }.joined(separator: "&")
    #expect(await client.send("GET", "\(Self.publish)?\(many)").status == 400)
  }

  @Test("more conflicts than a page lists keep their answers from page to page")
  func paging() async throws {
    let files = try TestStore(snapshotModel)
    let tags = try files.store.insert("Tag", count: MergePages.conflictCount + 3)
    let branch = try await files.store.branches.create("spring")
    try await branch.write { tx in for tag in tags { try tx.set(tag, "name", .string("theirs")) } }
    try await files.store.write { tx in for tag in tags { try tx.set(tag, "name", .string("ours")) } }
    let client = ExplorerClient(files.store) { $0.allowsWrites = true }
    let page = await client.page(Self.publish)
    #expect(page.matches(of: /name="conflict\.\d+"/).count == MergePages.conflictCount)
    let first = try form(page, "theirs", action: "plan")
    let answered = try #require(await client.post(Self.publish, first).header("Location"))
    let next = await client.page("\(answered)&conflicts=\(MergePages.conflictCount)")
    #expect(next.matches(of: /name="conflict\.\d+"/).count == 3)
    #expect(next.matches(of: /name="answer" value/).count == 1)
    let json = try await client.json("\(answered)&conflicts=\(MergePages.conflictCount)")
    #expect((json["conflicts"] as? [Any])?.count == 3 && json["conflictCount"] as? Int == tags.count - 1)
  }
}
