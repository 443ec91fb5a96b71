// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
)

// replacer replaces all text in a recording except terms defined by vSphere. Equal texts get equal
// replacements, so that references and disk chains can still be followed. Only the properties in
// plainProperties are retained. Unknown properties are replaced.
type replacer struct {
	replacements map[string]string
	count        map[string]int
}

func newReplacer() *replacer {
	return &replacer{replacements: map[string]string{}, count: map[string]int{}}
}

// plainProperties are the properties that contain vSphere's own terms and versions.
var plainProperties = words(`_typeName type slipwayRecording version build apiVersion lacks
	alternateGuestName backingType changeVersion compatibilityIssue connectionState cpuModel descriptionId deviceType diskMode
	drsBehavior entityType defaultVmBehavior faultCause firmware format guestFamily guestFullName guestHeartbeatStatus guestId
	guestState hostType level latencySensitivity maintenanceMode model op operation ovfEnvironmentTransport powerState
	quickStats rsvdMem sharing sharedBus standbyMode state status toolsRunningStatus toolsStatus toolsVersion toolsVersionStatus
	toolsVersionStatus2 vendor virtualDiskFormat`)

// secretProperties are the properties that may contain secrets. Only their length is recorded.
var secretProperties = words("annotation value defaultValue message result")

// omittedProperties are the properties that are omitted: IDs of other vCenters, and certificates.
var omittedProperties = words("serverGuid endorsementKeyCertificate endorsementKeyCertificateSigningRequest")

func words(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(text) {
		out[w] = true
	}
	return out
}

// replaceValue returns the replacement of a decoded JSON value. property is its name.
func (r *replacer) replaceValue(property string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		return r.replaceObject(property, v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = r.replaceValue(property, v[i])
		}
		return out
	case string:
		return r.replaceScalar(property, v)
	}
	return v
}

// replaceObject replaces the values of an object. Some vSphere types need special treatment.
func (r *replacer) replaceObject(property string, o map[string]any) any {
	kind, _ := o["_typeName"].(string)
	out := make(map[string]any, len(o))
	for _, k := range slices.Sorted(maps.Keys(o)) {
		text, isText := o[k].(string)
		_, isObject := o[k].(map[string]any)
		switch {
		case kind == "ManagedObjectReference" && k == "value":
			out[k] = r.replaceName(strings.ToLower(fmt.Sprint(o["type"])), text)
		case omittedProperties[k]:
		case kind == "OptionValue" && k == "value":
			out[k] = map[string]any{"_typeName": "string", "_value": describeLength(o[k])}
		case (kind == "DynamicProperty" || kind == "MissingProperty") && (k == "name" || k == "path"):
			out[k] = o[k] // The path of a property.
		case kind == "DynamicProperty":
			path := fmt.Sprint(o["name"])
			out[k] = r.replaceValue(path[strings.LastIndex(path, ".")+1:], o[k])
		case kind == "TaskInfo" && k == "name", kind == "OptionValue" && k == "key":
			out[k] = o[k] // The method, or the key of a setting.
		case kind == "VAppPropertyInfo" && k == "type":
			out[k], _, _ = strings.Cut(text, "[") // The allowed values follow.
		case k == "_value" && isText && kind == "string":
			out[k] = r.replaceScalar(property, text)
		case k == "_value" && isText:
			out[k] = o[k] // A value of an enumeration, or a time.
		case secretProperties[k] && (isText || isObject):
			out[k] = describeLength(o[k])
		default:
			out[k] = r.replaceValue(k, o[k])
		}
	}
	return out
}

// replaceScalar returns the replacement of a string property.
func (r *replacer) replaceScalar(property, text string) string {
	switch {
	case plainProperties[property]:
		return text
	case secretProperties[property]:
		return describeLength(text)
	}
	return r.replaceText(text)
}

// describeLength returns the length of a string as text. Other values count as empty.
func describeLength(v any) string {
	if o, ok := v.(map[string]any); ok {
		v = o["_value"]
	}
	text, _ := v.(string)
	return fmt.Sprintf("<%d bytes>", len(text))
}

var (
	uuidForm = regexp.MustCompile(`^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$`)
	macForm  = regexp.MustCompile(`^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$`)
	pathForm = regexp.MustCompile(`^\[([^\]]*)\]\s*(.*)$`)
	// fileEnd matches the suffix of a file name that vSphere adds.
	fileEnd = regexp.MustCompile(`(-[0-9]{6}|-flat|-delta|-ctk|_[0-9]+)*\.[a-z]{2,6}$`)
)

// replaceText returns a replacement of the same form.
func (r *replacer) replaceText(s string) string {
	if s == "" {
		return ""
	}
	if _, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return s
	}
	if uuidForm.MatchString(s) {
		return r.replacementFor("uuid", strings.ToLower(s), func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", n) })
	}
	if macForm.MatchString(s) {
		return r.replacementFor("mac", strings.ToLower(s), func(n int) string { return fmt.Sprintf("00:50:56:00:%02x:%02x", n>>8&0xff, n&0xff) })
	}
	if a, err := netip.ParseAddr(s); err == nil {
		if a.Is4() { // RFC 5737 and RFC 3849: addresses for documentation.
			return r.replacementFor("ip4", s, func(n int) string { return fmt.Sprintf("192.0.2.%d", n%254+1) })
		}
		return r.replacementFor("ip6", s, func(n int) string { return fmt.Sprintf("2001:db8::%x", n) })
	}
	if m := pathForm.FindStringSubmatch(s); m != nil {
		parts := strings.Split(m[2], "/")
		for i, p := range parts {
			end := fileEnd.FindString(p)
			parts[i] = r.replaceName("file", strings.TrimSuffix(p, end)) + end
		}
		return strings.TrimSpace("[" + r.replaceName("text", m[1]) + "] " + strings.Join(parts, "/"))
	}
	return r.replaceName("text", s)
}

// replaceName replaces a name by its kind and a number.
func (r *replacer) replaceName(kind, s string) string {
	if s == "" {
		return ""
	}
	return r.replacementFor(kind, s, func(n int) string { return fmt.Sprintf("%s-%d", kind, n) })
}

// replacementFor returns the existing replacement of s, or creates one.
func (r *replacer) replacementFor(kind, s string, form func(int) string) string {
	id := kind + "\x00" + s
	if _, ok := r.replacements[id]; !ok {
		r.count[kind]++
		r.replacements[id] = form(r.count[kind])
	}
	return r.replacements[id]
}
