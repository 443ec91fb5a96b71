// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ClockPreferences is the preferred clock.
type ClockPreferences struct {
	// preferredClockOffset is the preferred clock offset. It is used only if the clock has no offset.
	// +optional
	PreferredClockOffset *ClockOffset `json:"preferredClockOffset,omitempty" protobuf:"bytes,1,opt,name=preferredClockOffset"`

	// preferredTimer are the preferred timers. They are stored for compatibility and have no effect on vSphere.
	// +optional
	PreferredTimer *Timer `json:"preferredTimer,omitempty" protobuf:"bytes,2,opt,name=preferredTimer"`
}

// ClockOffset is the offset of a clock. At most one field can be set.
type ClockOffset struct {
	// utc sets the clock to UTC.
	// +optional
	UTC *ClockOffsetUTC `json:"utc,omitempty" protobuf:"bytes,1,opt,name=utc"`

	// timezone sets the clock to a time zone, for example Europe/Berlin.
	// +optional
	Timezone *ClockOffsetTimezone `json:"timezone,omitempty" protobuf:"bytes,2,opt,name=timezone,casttype=ClockOffsetTimezone"`
}

// ClockOffsetUTC sets a clock to UTC.
type ClockOffsetUTC struct {
	// offsetSeconds is the offset from UTC, in seconds. It is stored for compatibility and has no effect on vSphere.
	// +optional
	OffsetSeconds *int64 `json:"offsetSeconds,omitempty" protobuf:"varint,1,opt,name=offsetSeconds"`
}

// ClockOffsetTimezone is a time zone name of the tz database.
type ClockOffsetTimezone string

// Timer are the timers of a guest.
type Timer struct {
	// hpet is the High Precision Event Timer.
	// +optional
	HPET *HPETTimer `json:"hpet,omitempty" protobuf:"bytes,1,opt,name=hpet"`

	// kvm is the KVM clock.
	// +optional
	KVM *KVMTimer `json:"kvm,omitempty" protobuf:"bytes,2,opt,name=kvm"`

	// pit is the Programmable Interval Timer.
	// +optional
	PIT *PITTimer `json:"pit,omitempty" protobuf:"bytes,3,opt,name=pit"`

	// rtc is the Real Time Clock.
	// +optional
	RTC *RTCTimer `json:"rtc,omitempty" protobuf:"bytes,4,opt,name=rtc"`

	// hyperv is the Hyper-V reference time.
	// +optional
	Hyperv *HypervTimer `json:"hyperv,omitempty" protobuf:"bytes,5,opt,name=hyperv"`
}

// HPETTimer is the High Precision Event Timer.
type HPETTimer struct {
	// tickPolicy defines how missed ticks are handled: delay, catchup, merge or discard.
	// +optional
	TickPolicy HPETTickPolicy `json:"tickPolicy,omitempty" protobuf:"bytes,1,opt,name=tickPolicy,casttype=HPETTickPolicy"`

	// present defines whether the guest has the timer. Defaults, when used, to true.
	// +optional
	Enabled *bool `json:"present,omitempty" protobuf:"varint,2,opt,name=present"`
}

// KVMTimer is the KVM clock.
type KVMTimer struct {
	// present defines whether the guest has the timer. Defaults, when used, to true.
	// +optional
	Enabled *bool `json:"present,omitempty" protobuf:"varint,1,opt,name=present"`
}

// PITTimer is the Programmable Interval Timer.
type PITTimer struct {
	// tickPolicy defines how missed ticks are handled: delay, catchup or discard.
	// +optional
	TickPolicy PITTickPolicy `json:"tickPolicy,omitempty" protobuf:"bytes,1,opt,name=tickPolicy,casttype=PITTickPolicy"`

	// present defines whether the guest has the timer. Defaults, when used, to true.
	// +optional
	Enabled *bool `json:"present,omitempty" protobuf:"varint,2,opt,name=present"`
}

// RTCTimer is the Real Time Clock.
type RTCTimer struct {
	// tickPolicy defines how missed ticks are handled: delay or catchup.
	// +optional
	TickPolicy RTCTickPolicy `json:"tickPolicy,omitempty" protobuf:"bytes,1,opt,name=tickPolicy,casttype=RTCTickPolicy"`

	// present defines whether the guest has the timer. Defaults, when used, to true.
	// +optional
	Enabled *bool `json:"present,omitempty" protobuf:"varint,2,opt,name=present"`

	// track is the time that the timer follows: guest or wall.
	// +optional
	Track RTCTimerTrack `json:"track,omitempty" protobuf:"bytes,3,opt,name=track,casttype=RTCTimerTrack"`
}

// HypervTimer is the Hyper-V reference time.
type HypervTimer struct {
	// present defines whether the guest has the timer. Defaults, when used, to true.
	// +optional
	Enabled *bool `json:"present,omitempty" protobuf:"varint,1,opt,name=present"`
}

// HPETTickPolicy defines how missed ticks of the HPET are handled.
type HPETTickPolicy string

// PITTickPolicy defines how missed ticks of the PIT are handled.
type PITTickPolicy string

// RTCTickPolicy defines how missed ticks of the RTC are handled.
type RTCTickPolicy string

// RTCTimerTrack is the time that the RTC follows.
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
