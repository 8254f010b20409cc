"use strict";
// Every text of the data is put in as text: nothing here makes markup of it.
(() => {
  const items = JSON.parse(document.getElementById("data").textContent);
  const texts = items.flatMap((item) => item.texts);
  const said = JSON.parse(document.getElementById("classes").textContent);
  const list = document.getElementById("list");
  const detail = document.getElementById("detail");
  const sections = [...document.querySelectorAll("section.agent")];
  const count = document.getElementById("count");
  const controls = {};

  const make = (tag, name, ...children) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    element.append(...children.filter((child) => child !== null && child !== ""));
    return element;
  };
  // A browser, a mail or a chat may write the same address with other characters escaped.
  const decoded = (hash) => {
    try {
      return decodeURIComponent(hash);
    } catch {
      return hash;
    }
  };
  const link = (target, text) => {
    const element = make("a", "", text);
    element.href = "#" + target;
    return element;
  };
  const folded = (summary, ...children) => make("details", "", make("summary", "", summary), ...children);
  const whole = (pieces) => pieces.map((piece) => texts[piece]).join("\n\n");
  const outcome = (item) => (item.passed ? "passed" : item.class);

  const change = (row, word = "") => {
    const did = { insert: "inserted in", update: "updated in", delete: "deleted from" }[row.op];
    const table = make("table", "cells");
    for (const [column, before, after] of row.cells) {
      const values = [];
      if (before !== null) values.push(make("del", "", before));
      if (before !== null && after !== null) values.push(" → ");
      if (after !== null) values.push(make("ins", "", after));
      table.append(make("tr", "", make("th", "", column), make("td", "", ...values)));
    }
    return make("div", "change " + row.op, make("p", "", word, `${did} `, make("b", "", row.table), ` ${row.key}`), table);
  };

  const shownCall = (call, side, strayed) => {
    const name = make("p", "name", `${call.place} `, make("span", "tool", call.tool), " ");
    const box = make("div", call.error === null ? "call" : "call failed", strayed, name);
    box.id = `${side}-${call.place}`;
    if (call.partner !== null) {
      const [other, word] = side === "call" ? ["golden", "golden call"] : ["call", "made as call"];
      name.append(link(`${other}-${call.partner}`, `${word} ${call.partner}`));
    } else if (side === "golden") {
      name.append(make("span", "note", call.demanded ? "no call stands for it" : "not demanded"));
    }
    const table = make("table", "cells");
    for (const [argument, value] of call.arguments) {
      table.append(make("tr", "", make("th", "", argument), make("td", "", value)));
    }
    if (call.arguments.length) box.append(table);
    if (call.written !== null) box.append(make("p", "note", "cannot be read:"), make("pre", "", call.written));
    if (call.error !== null) box.append(make("p", "error", call.error));
    if (call.result.length) {
      const text = whole(call.result);
      box.append(text.length > 160 ? folded("result", make("pre", "", text)) : make("pre", "", text));
    }
    if (call.recorded !== null) {
      box.append(folded("the trajectory records another result", make("pre", "", whole(call.recorded))));
    }
    for (const rule of call.broken) box.append(make("p", "error", `breaks ${rule}`));
    box.append(...call.changes.map((row) => change(row)));
    return box;
  };

  const mark = (divergence) => {
    const note = make("p", "strayed", make("b", "", "Left the golden path here. "));
    note.append("Expected: ", make("q", "", divergence.expected), " Got: ", make("q", "", divergence.got));
    note.id = "divergence";
    return note;
  };

  const shownTurn = (turn, open) => {
    const box = make("div", "turn " + turn.role);
    box.append(make("p", "who", `${turn.role} `, make("span", "note", `message ${turn.message}`)));
    if (open !== null && open.call === null && open.message === turn.message) box.append(mark(open));
    if (turn.reasoning.length) box.append(folded("reasoning", make("div", "words", whole(turn.reasoning))));
    const words = make("div", "words", whole(turn.text));
    if (turn.role === "system") box.append(folded("instructions", words));
    else if (turn.text.length) box.append(words);
    if (turn.record) box.append(make("p", "note", `(${turn.record})`));
    for (const call of turn.calls) {
      box.append(shownCall(call, "call", open !== null && open.call === call.place ? mark(open) : null));
    }
    return box;
  };

  const finding = (found) => {
    const score = found.score === null ? "" : ` ${Math.round(found.score * 100) / 100}`;
    const box = make("div", "finding" + (found.score !== null && found.score < 1 ? " low" : ""));
    box.append(make("p", "", make("b", "", found.check), score, make("span", "note", found.counts ? " counts" : "")));
    box.append(...found.notes.map((note) => make("p", "words", note)));
    for (const word of ["missing", "unexpected"]) {
      for (const row of found[word]) box.append(change(row, make("span", "error", `${word}: `)));
    }
    return box;
  };

  const about = (talk) => {
    const facts = make("ul", "", ...talk.facts.map((fact) => make("li", "", fact)));
    const later = talk.later.map((words) => make("p", "", "later: ", make("q", "", words)));
    return folded("the task", make("p", "", talk.goal), make("p", "", talk.reason), facts, ...later, make("p", "note", `${talk.user}; ${talk.now}`));
  };

  const show = (item) => {
    const level = item.level && `level ${item.level}`;
    const facts = [`${item.agent} with ${item.user}`, item.world, item.kind, item.forms.join(" and "), level, item.split, item.persona, item.stop, `reward ${item.reward}`];
    const head = make("header", "", make("h3", "", item.id));
    const name = make("b", item.passed ? "good" : "bad", outcome(item));
    head.append(make("p", "", name, item.class ? `. ${said[item.class]}` : ""));
    head.append(make("p", "note", facts.filter((fact) => fact).join(" · ")));
    const talk = item.conversation;
    if (talk === null) {
      detail.replaceChildren(head, make("p", "", "Its conversation could not be read again."));
      return;
    }
    const strayed = item.divergence;
    if (strayed !== null) head.append(make("p", "", link("divergence", "Go to where it left the golden path")));
    const made = make("section", "side", make("h4", "", "What was said and done"));
    made.append(...talk.turns.map((turn) => shownTurn(turn, strayed)));
    if (talk.cut) made.append(make("p", "note", "More is not shown here; all of it: python -m evaluator show ", item.id));
    const golden = make("section", "side", make("h4", "", "Golden calls"));
    golden.append(...talk.golden.map((call) => shownCall(call, "golden", null)));
    if (!talk.golden.length) golden.append(make("p", "note", "None: nothing is to be done."));
    golden.append(make("h4", "", "Checks"), ...talk.findings.map(finding));
    detail.replaceChildren(head, about(talk), make("div", "sides", made, golden));
    if (strayed !== null && document.getElementById("divergence") === null) made.append(mark(strayed));
  };

  // An anchor names its trajectory, so that a link holds when the page is made again; and the speakers where several
  // have that id. Ids hold a `#`, and may hold anything else.
  const several = sections.length > 1;
  const shared = new Set(items.map((item) => item.id).filter((id, at, ids) => ids.indexOf(id) !== at));
  const anchors = items.map((item) => {
    const parts = shared.has(item.id) ? [item.id, item.agent, item.user] : [item.id];
    return "trajectory-" + parts.map(encodeURIComponent).join("/");
  });
  const rows = items.map((item, at) => {
    const row = link(anchors[at], "");
    row.addEventListener("click", () => open(at));
    row.append(make("span", "id", item.id), make("span", item.passed ? "good" : "bad", outcome(item)));
    if (several) row.append(make("span", "note", `${item.agent} with ${item.user}`));
    return row;
  });
  list.append(...rows);

  const isWanted = (name, of) => controls[name].value === "" || controls[name].value === of[name];

  // The trajectory that is shown; null where the filter leaves none.
  let current = null;
  const open = (at, why = "No trajectory fits these filters.") => {
    current = at;
    rows.forEach((row, place) => (place === at ? row.setAttribute("aria-current", "true") : row.removeAttribute("aria-current")));
    if (at === null) detail.replaceChildren(make("p", "note", why));
    else show(items[at]);
  };

  const filter = () => {
    const wanted = controls.search.value.trim().toLowerCase();
    let shown = 0;
    items.forEach((item, at) => {
      const hit =
        item.id.toLowerCase().includes(wanted) &&
        (controls.outcome.value === "" || controls.outcome.value === outcome(item)) &&
        (controls.form.value === "" || item.forms.includes(controls.form.value)) &&
        ["world", "kind", "level", "agent", "user"].every((name) => isWanted(name, item));
      rows[at].hidden = !hit;
      shown += hit;
    });
    count.textContent = `${shown} of ${items.length}`;
    for (const one of sections) one.hidden = !["agent", "user"].every((name) => isWanted(name, one.dataset));
    // The pane shows one of the list: the one that is searched for by its whole id, else what it showed, else the first.
    const isNamed = (at) => items[at].id.toLowerCase() === wanted;
    const named = rows.findIndex((row, at) => !row.hidden && isNamed(at));
    const isListed = current !== null && !rows[current].hidden;
    if (isListed && (named < 0 || isNamed(current))) return;
    const first = named < 0 ? rows.findIndex((row) => !row.hidden) : named;
    const isLinked = current !== null && first >= 0 && location.hash.startsWith("#trajectory-");
    if (isLinked) history.replaceState(null, "", "#" + anchors[first]);
    open(first < 0 ? null : first);
  };

  const choice = (name, values) => {
    const select = make("select", "", make("option", "", `any ${name}`));
    select.firstChild.value = "";
    for (const value of [...new Set(values)].filter((value) => value)) {
      const option = make("option", "", value);
      option.value = value;
      select.append(option);
    }
    select.setAttribute("aria-label", name);
    select.addEventListener("change", filter);
    controls[name] = select;
    return select;
  };

  const search = make("input", "");
  search.type = "search";
  search.placeholder = "id";
  search.setAttribute("aria-label", "search by id");
  search.addEventListener("input", filter);
  controls.search = search;
  document.getElementById("controls").append(
    search,
    choice("outcome", items.map(outcome)),
    choice("world", items.map((item) => item.world).sort()),
    choice("kind", items.map((item) => item.kind).sort()),
    choice("form", items.flatMap((item) => item.forms).sort()),
    choice("level", items.map((item) => item.level).sort()),
  );
  for (const name of ["agent", "user"]) {
    const values = [...new Set(sections.map((one) => one.dataset[name]))];
    const select = choice(name, values);
    if (values.length > 1) document.getElementById("who").append(select);
  }

  for (const bar of document.querySelectorAll("[data-class]")) {
    bar.addEventListener("click", () => {
      const { agent, user } = bar.closest("section").dataset;
      controls.outcome.value = bar.dataset.class;
      controls.agent.value = agent;
      controls.user.value = user;
      filter();
    });
  }

  const select = () => {
    if (!location.hash.startsWith("#trajectory-")) return;
    const named = decoded(location.hash);
    let at = anchors.findIndex((anchor) => named === decoded("#" + anchor));
    if (at < 0) at = items.findIndex((item) => named === "#trajectory-" + item.id);
    if (at < 0) {
      open(null, `${named.slice("#trajectory-".length)} is not on this page.`);
      return;
    }
    if (rows[at].hidden) {
      // Whoever opens a link wants to see it, whatever was filtered before.
      for (const control of Object.values(controls)) control.value = "";
      filter();
    }
    open(at);
    const { top } = detail.getBoundingClientRect();
    if (top < 0 || top > innerHeight / 2) detail.scrollIntoView();
  };
  addEventListener("hashchange", select);
  document.getElementById("browser").hidden = false;
  filter();
  select();
})();
