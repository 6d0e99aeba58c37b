// A rater's session on the rating page: the pair on the screen, the pair loaded ahead, and the answers that the server
// does not have yet. This state changes only in the methods below; rate.js draws it and talks to the server.

export class Session {
  /** The pair on the screen. @type {PreparedPair | null} */
  current = null;

  /** The pair after it, which loads while the current one is looked at. @type {PreparedPair | null} */
  upcoming = null;

  /** Whether the pair came to the screen so recently that nobody can have seen it. */
  early = true;

  /** The rater's answers that the server has. */
  answerCount = 0;

  /** The lease whose answer can be taken back. @type {string | null} */
  undoable = null;

  /** The last request for a pair. @type {Promise<any>} */
  pairRequest = Promise.resolve();

  /** Resolves once everything that is to be sent has been sent. @type {Promise<void>} */
  sent = Promise.resolve();

  /** Answers that the server does not have yet, by lease. @type {Map<string, Answer>} */
  #unsent = new Map();

  /** @type {Answer | null} */
  #lastAnswer = null;

  #fetching = false;

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #viewing;

  #shownAt = 0;
  #lastTicket = 0;
  #newestTicket = 0;

  #wording;
  #greeted;

  /**
   * @param {number} wording the number of the wording that the page shows
   * @param {boolean} greeted whether the instructions need not be shown before the first pair
   */
  constructor(wording, greeted) {
    this.#wording = wording;
    this.#greeted = greeted;
  }

  /** The leases of the pairs on the page. */
  get leases() {
    return [this.current, this.upcoming].flatMap((pair) => (pair ? [pair.lease] : []));
  }

  /** The leases that the server must not give again: pairs on the page, and answers that it does not have yet. */
  get heldLeases() {
    return [...this.leases, ...this.#unsent.keys()];
  }

  get hasUnsent() {
    return this.#unsent.size > 0;
  }

  /** The number of the rater's next answer; skips do not count. */
  get nextNumber() {
    return this.answerCount + [...this.#unsent.values()].filter(({ choice }) => choice !== "skip").length + 1;
  }

  /** Seconds since the pair came to the screen. */
  get viewedSeconds() {
    return (performance.now() - this.#shownAt) / 1000;
  }

  /** The comment of the answer that can be taken back. */
  get undoableComment() {
    return this.#lastAnswer?.lease === this.undoable ? this.#lastAnswer?.comment ?? "" : "";
  }

  /** Return, once, whether to show the instructions: before the first pair, to a rater without answers. */
  greet() {
    const isNew = !this.#greeted && this.answerCount === 0;
    this.#greeted = true;
    return isNew;
  }

  /**
   * Take over the number of a wording, and return whether it is another one.
   * @param {number} number
   */
  changeWording(number) {
    const isOther = number !== this.#wording;
    this.#wording = number;
    return isOther;
  }

  /** Return whether to start fetching pairs; there is only one loop at a time. */
  startFetching() {
    const isFree = !this.#fetching;
    this.#fetching = true;
    return isFree;
  }

  stopFetching() {
    this.#fetching = false;
  }

  /**
   * Remember the last request for a pair, and return it.
   * @param {Promise<any>} pairRequest
   */
  trackPairRequest(pairRequest) {
    this.pairRequest = pairRequest;
    return pairRequest;
  }

  /**
   * Start the time in which no answer counts.
   * @param {number} milliseconds
   * @param {() => void} end called when it is over
   */
  startViewing(milliseconds, end) {
    this.#shownAt = performance.now();
    this.early = true;
    clearTimeout(this.#viewing);
    this.#viewing = setTimeout(() => {
      this.early = false;
      end();
    }, milliseconds);
  }

  /**
   * Take a pair from the server: to the screen if nothing is there, else as the upcoming one.
   * @param {PreparedPair} pair
   */
  receive(pair) {
    if (this.current === null) this.current = pair;
    else this.upcoming = pair;
  }

  /** Move on to the upcoming pair. */
  advance() {
    this.current = this.upcoming;
    this.upcoming = null;
  }

  /**
   * Put a pair back on the screen after its answer was taken back; the pair that was there comes next.
   * @param {PreparedPair} pair
   */
  goBack(pair) {
    if (this.current !== null) this.upcoming = this.current;
    this.current = pair;
  }

  /**
   * Keep an answer until the server has it.
   * @param {Answer} answer
   */
  give(answer) {
    this.#lastAnswer = answer;
    this.#unsent.set(answer.lease, answer);
  }

  /**
   * Forget an answer that the server has counted or refused.
   * @param {Answer} answer
   */
  settle(answer) {
    this.#unsent.delete(answer.lease);
  }

  /**
   * Drop the pairs that were answered elsewhere, and return whether the one on the screen was among them.
   * @param {string[]} lost their leases
   */
  drop(lost) {
    if (this.upcoming && lost.includes(this.upcoming.lease)) this.upcoming = null;
    if (this.current === null || !lost.includes(this.current.lease)) return false;
    this.advance();
    return true;
  }

  /**
   * Send this after everything before it.
   * @param {() => Promise<void>} send
   */
  enqueue(send) {
    this.sent = this.sent.then(send);
  }

  /** Number a request that is about to be sent. */
  takeTicket() {
    this.#lastTicket += 1;
    return this.#lastTicket;
  }

  /**
   * Take over the progress that a request brought, and return whether it is news. Requests overlap: progress is stale
   * if a request that was sent later has already brought its own.
   * @param {Progress} progress
   * @param {number} ticket of the request
   */
  update(progress, ticket) {
    if (ticket < this.#newestTicket) return false;
    this.#newestTicket = ticket;
    this.undoable = progress.undo;
    this.answerCount = progress.yours;
    return true;
  }
}
