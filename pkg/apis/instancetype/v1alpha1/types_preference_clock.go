// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ClockPreferences is the preferred clock.
type ClockPreferences struct {
	// preferredClockOffset is the preferred base of the clock. It fills a clock
	// that has no offset at all.
	// +optional
	PreferredClockOffset *ClockOffset `json:"preferredClockOffset,omitempty" protobuf:"bytes,1,opt,name=preferredClockOffset"`

	// preferredTimer are the preferred timers. They are stored for compatibility
	// and have no meaning on vSphere.
	// +optional
	PreferredTimer *Timer `json:"preferredTimer,omitempty" protobuf:"bytes,2,opt,name=preferredTimer"`
}

// ClockOffset is the base of a clock. At most one of its fields may be set.
type ClockOffset struct {
	// utc bases the clock on UTC.
	// +optional
	UTC *ClockOffsetUTC `json:"utc,omitempty" protobuf:"bytes,1,opt,name=utc"`

	// timezone bases the clock on a time zone, for example Europe/Berlin.
	// +optional
	Timezone *ClockOffsetTimezone `json:"timezone,omitempty" protobuf:"bytes,2,opt,name=timezone,casttype=ClockOffsetTimezone"`
}

// ClockOffsetUTC bases a clock on UTC.
type ClockOffsetUTC struct {
	// offsetSeconds is the distance from UTC in seconds.
	// +optional
	OffsetSeconds *int64 `json:"offsetSeconds,omitempty" protobuf:"varint,1,opt,name=offsetSeconds"`
}

// ClockOffsetTimezone is the name of a time zone in the tz database.
type ClockOffsetTimezone string

// Timer are the timers that a guest is given.
type Timer struct {
	// hpet is the High Precision Event Timer.
	// +optional
	HPET *HPETTimer `json:"hpet,omitempty" protobuf:"bytes,1,opt,name=hpet"`

	// kvm is the clock of KVM.
	// +optional
	KVM *KVMTimer `json:"kvm,omitempty" protobuf:"bytes,2,opt,name=kvm"`

	// pit is the Programmable Interval Timer.
	// +optional
	PIT *PITTimer `json:"pit,omitempty" protobuf:"bytes,3,opt,name=pit"`

	// rtc is the Real Time Clock.
	// +optional
	RTC *RTCTimer `json:"rtc,omitempty" protobuf:"bytes,4,opt,name=rtc"`

	// hyperv is the reference time of Hyper-V.
	// +optional
	Hyperv *HypervTimer `json:"hyperv,omitempty" protobuf:"bytes,5,opt,name=hyperv"`
}

// HPETTimer is the High Precision Event Timer.
type HPETTimer struct {
	// tickPolicy is what happens to missed ticks: delay, catchup, merge or
	// discard.
	// +optional
	TickPolicy HPETTickPolicy `json:"tickPolicy,omitempty" protobuf:"bytes,1,opt,name=tickPolicy,casttype=HPETTickPolicy"`

	// present is whether the guest has the timer. Unset stands for true.
	// +optional
	Enabled *bool `json:"present,omitempty" protobuf:"varint,2,opt,name=present"`
}

// KVMTimer is the clock of KVM.
type KVMTimer struct {
	// present is whether the guest has the timer. Unset stands for true.
	// +optional
	Enabled *bool `json:"present,omitempty" protobuf:"varint,1,opt,name=present"`
}

// PITTimer is the Programmable Interval Timer.
type PITTimer struct {
	// tickPolicy is what happens to missed ticks: delay, catchup or discard.
	// +optional
	TickPolicy PITTickPolicy `json:"tickPolicy,omitempty" protobuf:"bytes,1,opt,name=tickPolicy,casttype=PITTickPolicy"`

	// present is whether the guest has the timer. Unset stands for true.
	// +optional
	Enabled *bool `json:"present,omitempty" protobuf:"varint,2,opt,name=present"`
}

// RTCTimer is the Real Time Clock.
type RTCTimer struct {
	// tickPolicy is what happens to missed ticks: delay or catchup.
	// +optional
	TickPolicy RTCTickPolicy `json:"tickPolicy,omitempty" protobuf:"bytes,1,opt,name=tickPolicy,casttype=RTCTickPolicy"`

	// present is whether the guest has the timer. Unset stands for true.
	// +optional
	Enabled *bool `json:"present,omitempty" protobuf:"varint,2,opt,name=present"`

	// track is what the timer follows: guest or wall.
	// +optional
	Track RTCTimerTrack `json:"track,omitempty" protobuf:"bytes,3,opt,name=track,casttype=RTCTimerTrack"`
}

// HypervTimer is the reference time of Hyper-V.
type HypervTimer struct {
	// present is whether the guest has the timer. Unset stands for true.
	// +optional
	Enabled *bool `json:"present,omitempty" protobuf:"varint,1,opt,name=present"`
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
