// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

const (
	namespace    = "urn:vim25"
	versionsPath = "/sdk/vimServiceVersions.xml"
)

// apiVersions are the versions of the vim25 namespace that vCenter 6.5 to 8.0 Update 3
// list in vimServiceVersions.xml (the names of pyVmomi's version table), the newest first.
var apiVersions = []string{
	"8.0.3.0", "8.0.2.1", "8.0.2.0", "8.0.1.0", "8.0.0.2", "8.0.0.1", "8.0.0.0",
	"7.0.3.2", "7.0.3.1", "7.0.3.0", "7.0.2.0", "7.0.1.1", "7.0.1.0", "7.0.0.2", "7.0.0.0",
	"6.8.7", "6.7.3", "6.7.2", "6.7.1", "6.7", "6.5", "6.0", "5.5", "5.1", "5.0", "4.1", "4.0", "2.5u2", "2.5", "2.0",
}

// spoken returns the versions that a service of the version own supports.
func spoken(own string) []string {
	if i := slices.Index(apiVersions, own); i >= 0 {
		return apiVersions[i:]
	}
	return append([]string{own}, apiVersions...)
}

// StrictVersions specifies whether calls in unsupported versions of the API are rejected.
func (f *Front) StrictVersions(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.strictVersions = on
}

func (f *Front) apiVersion() string {
	if f.version == nil {
		return apiVersions[0]
	}
	return f.version()
}

// serveVersions returns the supported versions. Clients read them before they choose one.
func (f *Front) serveVersions(w http.ResponseWriter) {
	versions := spoken(f.apiVersion())
	var prior strings.Builder
	for _, v := range versions[1:] {
		prior.WriteString("   <version>" + v + "</version>\n")
	}
	w.Header().Set("Content-Type", "text/xml")
	_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>
<namespaces version="1.0">
 <namespace>
  <name>%s</name>
  <version>%s</version>
  <priorVersions>
%s  </priorVersions>
 </namespace>
</namespaces>
`, namespace, versions[0], prior.String())
}

// mismatch rejects a call in an unknown version, and reports whether it did: "VersionMismatchFaultCode: Unsupported
// version URI" (as govmomi quotes vCenter).
func (f *Front) mismatch(w http.ResponseWriter, r *http.Request) bool {
	f.mu.Lock()
	on := f.strictVersions
	f.mu.Unlock()
	action := strings.Trim(r.Header.Get("SOAPAction"), `"`)
	version, versioned := strings.CutPrefix(action, namespace+"/")
	if !on || !versioned || slices.Contains(spoken(f.apiVersion()), version) {
		return false
	}
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body><soapenv:Fault>`+
		`<faultcode>VersionMismatchFaultCode</faultcode><faultstring>Unsupported version URI &quot;%s&quot;</faultstring>`+
		`</soapenv:Fault></soapenv:Body></soapenv:Envelope>`, action)
	return true
}
