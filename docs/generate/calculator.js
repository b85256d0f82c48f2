"use strict";
// The shape calculator of an operation's page. It knows the operation only from `operation`, which is
// made from the definition, and takes its arithmetic from the script "geometry" of taps.html.

/** The shapes of the three sides, the windows, and the legal sizes of the large side. */
function shapesOf(operation, problem) {
  const given = problem.dimensions;
  const large = given.map((one) => {
    if (operation.result !== "input") return one.size;
    const { first, last } = inputSizesFor(one.size, one.kernel, one.stride, one.dilation, problem.padding);
    return one.resultSize ?? (problem.padding === "SAME" ? last : first);
  });
  const windows = given.map((one, axis) =>
    fitted(large[axis], one.kernel, one.stride, one.dilation, problem.padding));
  const legal = windows.map((one, axis) =>
    inputSizesFor(operation.result === "input" ? given[axis].size : one.output,
      one.kernel, one.stride, one.dilation, problem.padding));
  const arranged = (channels, sizes) => {
    const rest = [...sizes];
    return [...problem.layout].map((letter) =>
      letter === "N" ? problem.batch : letter === "C" ? channels : rest.shift());
  };
  return {
    windows,
    legal,
    input: arranged(problem.inputChannels, large),
    filter: [...given.map((one) => one.kernel), problem.inputChannels, problem.outputChannels],
    output: arranged(problem.outputChannels,
      operation.result === "input" ? given.map((one) => one.size) : windows.map((one) => one.output)),
    strides: arranged(1, given.map((one) => one.stride)).map((step, axis) => problem.layout[axis] === "N" ? 1 : step),
    dilations: arranged(1, given.map((one) => one.dilation)).map((step, axis) => problem.layout[axis] === "N" ? 1 : step),
  };
}

/** The call, as Python, and what comes of it. */
function asPython(operation, problem, shapes) {
  const list = (numbers) => `[${numbers.join(", ")}]`;
  const operands = operation.operands.map(({ name, side }) => name === operation.sizes
    ? `    ${name}=${list(shapes[side])},`
    : `    ${name}=np.zeros(${list(shapes[side])}, np.float32),`);
  const dilated = problem.dimensions.some((one) => one.dilation > 1);
  return [
    `${operation.function}(`,
    ...operands,
    `    strides=${list(shapes.strides)},`,
    `    padding="${problem.padding}",`,
    `    data_format="${problem.layout}",`,
    ...(dilated ? [`    dilations=${list(shapes.dilations)},`] : []),
    `)  # ${list(shapes[operation.result])}`,
  ].join("\n");
}

/** Put the calculator into an element. */
function calculator(place, operation) {
  const transposed = operation.result === "input";
  const sizeOf = transposed ? "positions" : "size";
  const columns = [sizeOf, "kernel", "stride", "dilation", ...(transposed ? ["result"] : [])];
  const choice = (name, values) =>
    `<label>${name} <select name="${name}">${values.map((one) => `<option>${one}</option>`).join("")}</select></label>`;
  const number = (name, value, least) =>
    `<input name="${name}" type="number" min="${least}" max="1000000" value="${value}" aria-label="${name}">`;
  const starts = { [sizeOf]: 4, kernel: 3, stride: 2, dilation: 1 };
  const cells = (axis) => columns.map((column) => `<td>${column === "result"
    ? `<select name="result ${axis}" aria-label="result ${axis}"></select>`
    : number(`${column} ${axis}`, starts[column], column === sizeOf ? 0 : 1)}</td>`).join("");
  place.innerHTML = `<form autocomplete="off"><div class="choices">
    ${choice("data_format", operation.layouts)} ${choice("padding", ["SAME", "VALID"])}
    <label>batch ${number("batch", 1, 0)}</label>
    <label>${operation.channels.input} ${number("inputChannels", 2, 1)}</label>
    <label>${operation.channels.output} ${number("outputChannels", 3, 0)}</label></div>
    <div class="sizes"><table><thead><tr><th></th>${columns.map((one) => `<th>${one}</th>`).join("")}</tr></thead>
    <tbody>${operation.spatial.map((name, axis) => `<tr><th>${name}</th>${cells(axis)}</tr>`).join("")}</tbody></table></div>
    </form><p class="fault" role="alert"></p><pre class="call"></pre>`;
  const form = place.querySelector("form"), field = (name) => form.elements[name];
  const fault = place.querySelector(".fault"), call = place.querySelector(".call");

  function read(name) {
    const { value, min, max } = field(name);
    const found = Number(value);
    if (value.trim() === "" || !Number.isInteger(found) || found < Number(min) || found > Number(max)) {
      throw new RangeError(`${name} must be a whole number from ${min} to ${max}.`);
    }
    return found;
  }

  function readProblem() {
    return {
      layout: field("data_format").value,
      padding: field("padding").value,
      batch: read("batch"),
      inputChannels: read("inputChannels"),
      outputChannels: read("outputChannels"),
      dimensions: operation.spatial.map((_, axis) => ({
        size: read(`${sizeOf} ${axis}`),
        kernel: read(`kernel ${axis}`),
        stride: read(`stride ${axis}`),
        dilation: read(`dilation ${axis}`),
      })),
    };
  }

  /** Offer the legal sizes, keeping what was chosen where it still is one. */
  function offerSizes(problem) {
    const { legal } = shapesOf(operation, problem);
    problem.dimensions.forEach((dimension, axis) => {
      const { first, last } = legal[axis], select = field(`result ${axis}`);
      const kept = Number(select.value), usual = problem.padding === "SAME" ? last : first;
      const most = Math.min(last, first + 999);
      const sizes = Array.from({ length: Math.max(most - first + 1, 0) }, (_, index) => first + index);
      if (!sizes.includes(usual)) sizes.push(usual);
      dimension.resultSize = select.value !== "" && sizes.includes(kept) ? kept : usual;
      select.replaceChildren(...sizes.map((size) => new Option(size, size, false, size === dimension.resultSize)));
    });
  }

  function show() {
    try {
      const problem = readProblem();
      if (transposed) offerSizes(problem);
      call.textContent = asPython(operation, problem, shapesOf(operation, problem));
      fault.textContent = "";
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      fault.textContent = error.message;
      call.textContent = "";
    }
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", show);
  show();
}
