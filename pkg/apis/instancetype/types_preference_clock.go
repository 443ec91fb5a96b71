// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

// ClockPreferences is the preferred clock.
type ClockPreferences struct {
	// preferredClockOffset is the preferred base of the clock. It fills a clock
	// that has no offset at all.
	PreferredClockOffset *ClockOffset

	// preferredTimer are the preferred timers. They are stored for compatibility
	// and have no meaning on vSphere.
	PreferredTimer *Timer
}

// ClockOffset is the base of a clock. At most one of its fields may be set.
type ClockOffset struct {
	// utc bases the clock on UTC.
	UTC *ClockOffsetUTC

	// timezone bases the clock on a time zone, for example Europe/Berlin.
	Timezone *ClockOffsetTimezone
}

// ClockOffsetUTC bases a clock on UTC.
type ClockOffsetUTC struct {
	// offsetSeconds is the distance from UTC in seconds.
	OffsetSeconds *int64
}

// ClockOffsetTimezone is the name of a time zone in the tz database.
type ClockOffsetTimezone string

// Timer are the timers that a guest is given.
type Timer struct {
	// hpet is the High Precision Event Timer.
	HPET *HPETTimer

	// kvm is the clock of KVM.
	KVM *KVMTimer

	// pit is the Programmable Interval Timer.
	PIT *PITTimer

	// rtc is the Real Time Clock.
	RTC *RTCTimer

	// hyperv is the reference time of Hyper-V.
	Hyperv *HypervTimer
}

// HPETTimer is the High Precision Event Timer.
type HPETTimer struct {
	// tickPolicy is what happens to missed ticks: delay, catchup, merge or
	// discard.
	TickPolicy HPETTickPolicy

	// present is whether the guest has the timer. Unset stands for true.
	Enabled *bool
}

// KVMTimer is the clock of KVM.
type KVMTimer struct {
	// present is whether the guest has the timer. Unset stands for true.
	Enabled *bool
}

// PITTimer is the Programmable Interval Timer.
type PITTimer struct {
	// tickPolicy is what happens to missed ticks: delay, catchup or discard.
	TickPolicy PITTickPolicy

	// present is whether the guest has the timer. Unset stands for true.
	Enabled *bool
}

// RTCTimer is the Real Time Clock.
type RTCTimer struct {
	// tickPolicy is what happens to missed ticks: delay or catchup.
	TickPolicy RTCTickPolicy

	// present is whether the guest has the timer. Unset stands for true.
	Enabled *bool

	// track is what the timer follows: guest or wall.
	Track RTCTimerTrack
}

// HypervTimer is the reference time of Hyper-V.
type HypervTimer struct {
	// present is whether the guest has the timer. Unset stands for true.
	Enabled *bool
}

// HPETTickPolicy is what happens to missed ticks of the HPET.
type HPETTickPolicy string

// PITTickPolicy is what happens to missed ticks of the PIT.
type PITTickPolicy string

// RTCTickPolicy is what happens to missed ticks of the RTC.
type RTCTickPolicy string

// RTCTimerTrack is what the RTC follows.
type RTCTimerTrack string

const (
	// HPETTickPolicyDelay delivers late ticks at the normal rate.
	HPETTickPolicyDelay HPETTickPolicy = "delay"
	// HPETTickPolicyCatchup delivers late ticks faster.
	HPETTickPolicyCatchup HPETTickPolicy = "catchup"
	// HPETTickPolicyMerge merges late ticks into one.
	HPETTickPolicyMerge HPETTickPolicy = "merge"
	// HPETTickPolicyDiscard drops late ticks.
	HPETTickPolicyDiscard HPETTickPolicy = "discard"

	// PITTickPolicyDelay delivers late ticks at the normal rate.
	PITTickPolicyDelay PITTickPolicy = "delay"
	// PITTickPolicyCatchup delivers late ticks faster.
	PITTickPolicyCatchup PITTickPolicy = "catchup"
	// PITTickPolicyDiscard drops late ticks.
	PITTickPolicyDiscard PITTickPolicy = "discard"

	// RTCTickPolicyDelay delivers late ticks at the normal rate.
	RTCTickPolicyDelay RTCTickPolicy = "delay"
	// RTCTickPolicyCatchup delivers late ticks faster.
	RTCTickPolicyCatchup RTCTickPolicy = "catchup"

	// RTCTimerTrackGuest follows the time of the guest.
	RTCTimerTrackGuest RTCTimerTrack = "guest"
	// RTCTimerTrackWall follows the time of the host.
	RTCTimerTrackWall RTCTimerTrack = "wall"
)
