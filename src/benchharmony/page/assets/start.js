"use strict";
// What the other parts share. Texts reach the page through textContent only: no markup is ever
// made from a string, and the page's policy forbids it too.

const find = (selector, within = document) => within.querySelector(selector);
const findAll = (selector, within = document) => [...within.querySelectorAll(selector)];

function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") element.textContent = value;
    else if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const parsed = new Map();

// The data of a script element, read when first needed: a page of 14,000 items opens at once.
function stored(name) {
  if (!parsed.has(name)) parsed.set(name, JSON.parse(document.getElementById(name).textContent));
  return parsed.get(name);
}

function later(act, wait = 120) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), wait);
  };
}

const count = (number) => number.toLocaleString("en");
