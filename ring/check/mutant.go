// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

// Mutant is one rule of the protocol done wrongly. The zero value is the
// protocol as it is.
type Mutant uint8

// The mutants. Each names what is done instead of the rule.
const (
	None Mutant = iota

	// The reader's side.
	TakeByLoadAndStore    // take: load, then store 0, instead of one exchange
	SleepWithoutRecheck   // the mailbox is not looked at again after waiting=1
	CounterAfterRecheck   // the wake counter is loaded after the second look
	WaitingAfterRecheck   // waiting=1 is set after the second look
	NoKick                // release never looks at the kick flag
	KickBeforeHead        // release looks at the kick flag before it stores the head
	HeadBeforeEntry       // the head is stored before the entry is written
	ReleaseBeforeLastRead // the word is pushed while pixels are still read
	ReleaseUnchecked      // the generation is not compared at release

	// Grants.
	BookAfterExchange     // the lease is booked only after the mutex was released
	DropOldUnseen         // the earlier word's lease is dropped whatever the exchange returned
	CreditCountsMailbox   // the rule of cuda-ipc.md §4.3: no grant while the mailbox uses up the credit
	ExchangeWithoutCredit // no credit: exchange anyway, instead of compare-and-swap
	CASByLoadAndStore     // no credit: load, compare, store, as two steps
	CASSuccessKeepsOld    // the replaced word keeps its lease
	CASFailureKeepsNew    // the word that did not get in stays booked
	NoKickFlag            // a skipped reader is not asked for a kick
	NoRedrain             // the kick flag is set, the return ring not looked at again
	RedrainBeforeKickFlag // the return ring is looked at before the kick flag is set
	NoGrantOnKick         // a kick only drains
	KickNotRearmed        // a kick that frees no credit leaves the flag cleared
	GrantAgain            // a kick grants the newest frame even if it was the last granted
	JoinWithoutGrant      // a newcomer waits for the next frame

	// Wake-up.
	WakeBeforeExchange    // readers are woken, then granted
	WaitingBeforeExchange // waiting flags are read before the words are handed over
	ClearAfterCount       // waiting flags are cleared after the counter went up
	ClearAfterWake        // waiting flags are cleared after the wake
	NoCount               // the counter does not go up

	// Slots.
	RetainedUnprotected // the retained frame is freed with its last lease
	FreeThoughLeased    // one lease less frees the slot, whoever else holds it
	DeathFreesOthers    // a death drops every lease of the slots that the dead reader held
	DeathKeepsLeases    // a death drops no lease
	GenerationAtPublish // record.gen is stored after the pixels
	OneSlotFewer        // the ring has one slot less than the formula says

	mutants
)

var mutantNames = [mutants]string{
	None:                  "none",
	TakeByLoadAndStore:    "take by load and store",
	SleepWithoutRecheck:   "sleep without re-check",
	CounterAfterRecheck:   "counter loaded after re-check",
	WaitingAfterRecheck:   "waiting set after re-check",
	NoKick:                "no kick",
	KickBeforeHead:        "kick flag read before head",
	HeadBeforeEntry:       "head stored before entry",
	ReleaseBeforeLastRead: "release before last read",
	ReleaseUnchecked:      "release without generation check",
	BookAfterExchange:     "book after exchange",
	DropOldUnseen:         "drop old lease unseen",
	CreditCountsMailbox:   "credit counts the mailbox",
	ExchangeWithoutCredit: "exchange without credit",
	CASByLoadAndStore:     "compare-and-swap by load and store",
	CASSuccessKeepsOld:    "replaced word keeps its lease",
	CASFailureKeepsNew:    "failed swap keeps its booking",
	NoKickFlag:            "no kick flag",
	NoRedrain:             "kick flag without second drain",
	RedrainBeforeKickFlag: "second drain before kick flag",
	NoGrantOnKick:         "no grant on kick",
	KickNotRearmed:        "kick flag not set again",
	GrantAgain:            "same frame granted twice",
	JoinWithoutGrant:      "join without grant",
	WakeBeforeExchange:    "wake before exchange",
	WaitingBeforeExchange: "waiting read before exchange",
	ClearAfterCount:       "waiting cleared after count",
	ClearAfterWake:        "waiting cleared after wake",
	NoCount:               "counter not incremented",
	RetainedUnprotected:   "retained frame unprotected",
	FreeThoughLeased:      "free though leased",
	DeathFreesOthers:      "death frees leases of others",
	DeathKeepsLeases:      "death keeps leases",
	GenerationAtPublish:   "generation stored at publish",
	OneSlotFewer:          "one slot fewer",
}

// String names the mutant in words.
func (m Mutant) String() string {
	if m >= mutants {
		return "unknown mutant"
	}
	return mutantNames[m]
}

// Mutants lists every mutant, without None.
func Mutants() []Mutant {
	all := make([]Mutant, 0, mutants-1)
	for m := None + 1; m < mutants; m++ {
		all = append(all, m)
	}
	return all
}
