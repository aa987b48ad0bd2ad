// Made from the OpenAPI document of the platform: npm run interface:types. Do not edit.

export interface paths {
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** State of each service; 503 while one fails or the process drains */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Metrics for Prometheus; METRICS_TOKEN or the admin token is needed outside of METRICS_NETWORKS */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bluetooth-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Authorize a driver to use a vehicle over Bluetooth */
        post: operations["postBluetoothToken"];
        /** Revoke an authorization; the device learns of it as soon as it is connected */
        delete: operations["deleteBluetoothToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bluetooth-token/{authorizationId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** An authorization, with the token for the device that is linked to the vehicle now */
        get: operations["getBluetoothTokenByAuthorizationId"];
        put?: never;
        /** Replace an authorization by one with another interval, identifier, token and key */
        post: operations["postBluetoothTokenByAuthorizationId"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bluetooth-token/{authorizationId}/commands": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Command strings that a phone may send to the device over Bluetooth */
        get: operations["getBluetoothTokenByAuthorizationIdCommands"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bluetooth-token/{authorizationId}/params": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Name and pin for the Bluetooth connection */
        get: operations["getBluetoothTokenByAuthorizationIdParams"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bluetooth-token/commands": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Command strings that a phone may send to the device over Bluetooth */
        get: operations["getBluetoothTokenCommands"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bluetooth-token/invalidate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Suspend an authorization until a time, at which it resumes */
        post: operations["postBluetoothTokenInvalidate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bluetooth-token/params": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Name and pin for the Bluetooth connection */
        get: operations["getBluetoothTokenParams"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bluetooth-token/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End the suspension of an authorization now */
        post: operations["postBluetoothTokenValidate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/booking/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One booking */
        get: operations["getBookingById"];
        /** Change the interval of a booking, which replaces its authorization */
        put: operations["putBookingById"];
        post?: never;
        /** Delete a booking before its start, or a free-floating one whose driver could not use the vehicle */
        delete: operations["deleteBookingById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/booking/{id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End a booking now and revoke its authorization */
        post: operations["postBookingByIdStop"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bookings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The bookings that have started and not ended */
        get: operations["getBookings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/device": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Move a device to another vehicle */
        put: operations["putDevice"];
        /** Link a device to a vehicle */
        post: operations["postDevice"];
        /** Unlink a device from its vehicle */
        delete: operations["deleteDevice"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sign in as an application or as one of its users */
        post: operations["postLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/parkings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the parking spots of the application */
        get: operations["getParkings"];
        put?: never;
        /** Create a parking spot */
        post: operations["postParkings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/parkings/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find a parking spot */
        get: operations["getParkingsById"];
        put?: never;
        /** Change the given fields of a parking spot */
        post: operations["postParkingsById"];
        /** Delete a parking spot and the assignments of vehicles to it */
        delete: operations["deleteParkingsById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/refreshToken": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Exchange a refresh token for new tokens */
        post: operations["postRefreshToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/siv/fr/{plate_or_vin}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Look up registration data by plate or VIN */
        get: operations["getSivFrByPlateOrVin"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/user/{userid}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke all authorizations of a driver, and wait until the devices have confirmed it */
        delete: operations["deleteUserByUserid"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/user/{userid}/authorizations/expired": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The expired authorizations of a driver */
        get: operations["getUserByUseridAuthorizationsExpired"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/user/{userid}/authorizations/scheduled": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The scheduled authorizations of a driver */
        get: operations["getUserByUseridAuthorizationsScheduled"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/user/{userid}/vehicles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The vehicles of the current and scheduled authorizations of a driver */
        get: operations["getUserByUseridVehicles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/user/updatePassword": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Change the password; other sessions of the user end */
        post: operations["postUserUpdatePassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find a vehicle by its id or plate */
        get: operations["getVehicle"];
        /** Archive or reactivate a vehicle */
        put: operations["putVehicle"];
        /** Request a vehicle; the operator decides */
        post: operations["postVehicle"];
        /** Delete a vehicle; its data is purged in the background */
        delete: operations["deleteVehicle"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find a vehicle */
        get: operations["getVehicleById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/accident": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Set or clear the state accident of a vehicle */
        post: operations["postVehicleByIdAccident"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/authorizations/current": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The current authorizations of a vehicle */
        get: operations["getVehicleByIdAuthorizationsCurrent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/authorizations/expired": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The expired authorizations of a vehicle */
        get: operations["getVehicleByIdAuthorizationsExpired"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/authorizations/scheduled": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The scheduled authorizations of a vehicle */
        get: operations["getVehicleByIdAuthorizationsScheduled"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/booking": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The bookings of a vehicle, the latest start first */
        get: operations["getVehicleByIdBooking"];
        put?: never;
        /** Book a vehicle for a driver, with an authorization for the interval */
        post: operations["postVehicleByIdBooking"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/breakdown": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Set or clear the state breakdown of a vehicle */
        post: operations["postVehicleByIdBreakdown"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/customcan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Latest CAN data of one vehicle */
        get: operations["getVehicleByIdCustomcan"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/customcan/from/{timestamp}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** CAN data of one vehicle since a point in time, by time */
        get: operations["getVehicleByIdCustomcanFromByTimestamp"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Readings of one vehicle, by time */
        get: operations["getVehicleByIdHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/maintenance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Set or clear the state maintenance of a vehicle */
        post: operations["postVehicleByIdMaintenance"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/parking": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find the parking spot of a vehicle */
        get: operations["getVehicleByIdParking"];
        put?: never;
        /** Assign a vehicle to a parking spot */
        post: operations["postVehicleByIdParking"];
        /** Remove a vehicle from its parking spot; deleted is false if it had none */
        delete: operations["deleteVehicleByIdParking"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/position": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Last known position of one vehicle */
        get: operations["getVehicleByIdPosition"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/siv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Look up the registration data of a vehicle */
        get: operations["getVehicleByIdSiv"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Latest status of one vehicle, in the dynamic shape, the fleet shape, or both at once */
        get: operations["getVehicleByIdStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/stolen": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Set or clear the state stolen of a vehicle */
        post: operations["postVehicleByIdStolen"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/towing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Set or clear the state towing of a vehicle */
        post: operations["postVehicleByIdTowing"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/trips": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Completed trips of one vehicle, by start */
        get: operations["getVehicleByIdTrips"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/unavailable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Set or clear the state unavailable of a vehicle */
        post: operations["postVehicleByIdUnavailable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The actions that the device of a vehicle supports */
        get: operations["getVehicleActions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/honk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sound the horn */
        post: operations["postVehicleHonk"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/immobilize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Prevent startup; refused while the vehicle drives */
        post: operations["postVehicleImmobilize"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/lights/on": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Flash the turning lights */
        post: operations["postVehicleLightsOn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/lock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Lock the doors */
        post: operations["postVehicleLock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/position": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Last known position of one vehicle, by its id or its plate */
        get: operations["getVehiclePosition"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/privacy/off": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End the privacy interval of a vehicle */
        post: operations["postVehiclePrivacyOff"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/privacy/on": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a privacy interval: positions of the vehicle are not stored */
        post: operations["postVehiclePrivacyOn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Allow startup */
        post: operations["postVehicleStart"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Fleet status of one vehicle, by its id or its plate */
        get: operations["getVehicleStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/trunk/unlock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Unlock the trunk */
        post: operations["postVehicleTrunkUnlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/unlock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Unlock the doors */
        post: operations["postVehicleUnlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/windows/close": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Close the windows */
        post: operations["postVehicleWindowsClose"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/windows/open": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Open the windows */
        post: operations["postVehicleWindowsOpen"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All vehicles with their latest position, or those that can be booked */
        get: operations["getVehicles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicles/authorizations/current": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The current authorizations of all vehicles */
        get: operations["getVehiclesAuthorizationsCurrent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicles/authorizations/expired": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The expired authorizations of all vehicles */
        get: operations["getVehiclesAuthorizationsExpired"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicles/authorizations/scheduled": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The scheduled authorizations of all vehicles */
        get: operations["getVehiclesAuthorizationsScheduled"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicles/customcan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Latest CAN data of all vehicles */
        get: operations["getVehiclesCustomcan"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicles/customcan/from/{timestamp}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** CAN data of all vehicles since a point in time, by time, then vehicle */
        get: operations["getVehiclesCustomcanFromByTimestamp"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicles/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Readings of all vehicles, by time, then vehicle */
        get: operations["getVehiclesHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicles/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Latest status of all vehicles that have data */
        get: operations["getVehiclesStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/applications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the applications */
        get: operations["getAdminApplications"];
        put?: never;
        /** Create an application; its appKey is shown only once */
        post: operations["postAdminApplications"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/applications/{appId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show the settings of an application */
        get: operations["getAdminApplicationsByAppId"];
        /** Change settings of an application; answers all of them */
        put: operations["putAdminApplicationsByAppId"];
        post?: never;
        /** Delete an application with its users and vehicles, whose data is purged; its devices have no owner then */
        delete: operations["deleteAdminApplicationsByAppId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/applications/{appId}/key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Replace the appKey of an application, shown only once; the old one stays valid for some hours */
        post: operations["postAdminApplicationsByAppIdKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/applications/{appId}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End all sessions of an application and its users */
        delete: operations["deleteAdminApplicationsByAppIdSessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List or search the audit of an application, or of the actions outside of any */
        get: operations["getAdminAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/audit/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Recompute the hashes of the audit; answers the first altered row of each chain */
        get: operations["getAdminAuditVerify"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/can-databases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the DBC files by which raw CAN frames are decoded */
        get: operations["getAdminCanDatabases"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/can-databases/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Store or replace the DBC file of a vehicle model, unless it has a fault and skipFaulty is false; it applies to frames at once */
        put: operations["putAdminCanDatabasesByName"];
        post?: never;
        /** Remove the DBC file of a vehicle model; values that were decoded by it stay */
        delete: operations["deleteAdminCanDatabasesByName"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/can-redecodings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Decode the stored CAN frames of a vehicle model again, with its present DBC file */
        post: operations["postAdminCanRedecodings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/can-redecodings/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show how far the decoding of stored CAN frames is */
        get: operations["getAdminCanRedecodingsById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/device-connection": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Addresses at which devices reach the platform: over MQTT, and in the protocol of Teltonika */
        get: operations["getAdminDeviceConnection"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/device-imports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create all devices of a CSV file, or none; their secrets are shown only once */
        post: operations["postAdminDeviceImports"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/device-keys/reseal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Seal every device key under the first of ENCRYPTION_KEYS, so that the others can be removed */
        post: operations["postAdminDeviceKeysReseal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/device-models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List device models */
        get: operations["getAdminDeviceModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/device-models/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a device model */
        get: operations["getAdminDeviceModelsByName"];
        /** Create or replace a device model; it applies to all devices of the model at once */
        put: operations["putAdminDeviceModelsByName"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/devices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the devices of one application or of all */
        get: operations["getAdminDevices"];
        put?: never;
        /** Create a device and link it to a vehicle if one is given; its secret is shown only once */
        post: operations["postAdminDevices"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/devices/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Delete a device: its link and session end, and it cannot connect again */
        delete: operations["deleteAdminDevicesById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/devices/{id}/certificates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke all client certificates issued to a device before now; sessions opened with one end */
        delete: operations["deleteAdminDevicesByIdCertificates"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/devices/{id}/key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Key version of a device, and the versions of its key list that are due, published and confirmed */
        get: operations["getAdminDevicesByIdKey"];
        put?: never;
        /** Create or rotate the key of a device for keyless access; only this answer shows it */
        post: operations["postAdminDevicesByIdKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/devices/{id}/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Move a device to another vehicle */
        put: operations["putAdminDevicesByIdLink"];
        /** Link a device to a vehicle */
        post: operations["postAdminDevicesByIdLink"];
        /** Unlink a device from its vehicle */
        delete: operations["deleteAdminDevicesByIdLink"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/devices/{id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Unlink a device and take it from its application; the new claim code is shown only once */
        post: operations["postAdminDevicesByIdRelease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/devices/{id}/secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Replace the secret of a device, shown only once; sessions with an invalid secret end */
        post: operations["postAdminDevicesByIdSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/devices/{id}/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End every authorization token of a device; its authorizations stay and have new tokens */
        delete: operations["deleteAdminDevicesByIdTokens"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/gbfs/{appId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show what an application publishes as GBFS 3.0 */
        get: operations["getAdminGbfsByAppId"];
        /** Publish the vehicles and stations of an application as GBFS 3.0, to everyone */
        put: operations["putAdminGbfsByAppId"];
        post?: never;
        /** Stop publishing an application as GBFS; its feeds answer NOT_FOUND from then on */
        delete: operations["deleteAdminGbfsByAppId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/gbfs/{appId}/vehicles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show how many vehicles of an application its GBFS feeds publish now, and why the others are not in them */
        get: operations["getAdminGbfsByAppIdVehicles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Import readings of another system; repeating them changes nothing */
        post: operations["postAdminImport"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/operators": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the operators */
        get: operations["getAdminOperators"];
        put?: never;
        /** Create an operator; its password is shown only once */
        post: operations["postAdminOperators"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/operators/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Change the role or the applications of an operator; its sessions have the new ones at once */
        put: operations["putAdminOperatorsByName"];
        post?: never;
        /** Delete an operator; its sessions end */
        delete: operations["deleteAdminOperatorsByName"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/operators/{name}/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Replace the password of an operator, shown only once; its sessions end, and it must choose another one */
        post: operations["postAdminOperatorsByNamePassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/operators/{name}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End all sessions of an operator */
        delete: operations["deleteAdminOperatorsByNameSessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/persons/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Export everything stored about a driver or user */
        get: operations["getAdminPersonsById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/persons/{id}/erase": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Erase a driver or user: replaces the id everywhere by an irreversible pseudonym */
        post: operations["postAdminPersonsByIdErase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/pipeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** History of uploads, latencies, queue and sizes */
        get: operations["getAdminPipeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/quarantine": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List quarantined uploads with their faults */
        get: operations["getAdminQuarantine"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/quarantine/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a quarantined upload */
        get: operations["getAdminQuarantineById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/quarantine/{id}/open": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Open the payload of a quarantined upload; the access is recorded in the audit */
        post: operations["postAdminQuarantineByIdOpen"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/quarantine/dismiss": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Dismiss quarantined uploads that will never be stored */
        post: operations["postAdminQuarantineDismiss"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/quarantine/reasons": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count the open quarantined uploads by the reasons of their faults */
        get: operations["getAdminQuarantineReasons"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/quarantine/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Replay quarantined uploads through ingest: the given ones, or all unresolved ones */
        post: operations["postAdminQuarantineReplay"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/quarantine/reseal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Seal every quarantined upload under the first of ENCRYPTION_KEYS, so that the others can be removed */
        post: operations["postAdminQuarantineReseal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/registration-fields": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the fields of a record with their types */
        get: operations["getAdminRegistrationFields"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/registration-imports/{file_sha256}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show the progress of an import and its bad rows */
        get: operations["getAdminRegistrationImportsByFileSha256"];
        put?: never;
        post?: never;
        /** Reset an import to the first row of its file; imported records stay */
        delete: operations["deleteAdminRegistrationImportsByFileSha256"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/registrations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Import a part of a file of records; repeating a part changes nothing */
        post: operations["postAdminRegistrations"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/registrations/{plate_or_vin}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Look up registration data with the source of each field and the decoded VIN */
        get: operations["getAdminRegistrationsByPlateOrVin"];
        put?: never;
        post?: never;
        /** Remove the imported records of a vehicle and the cached answers of the provider */
        delete: operations["deleteAdminRegistrationsByPlateOrVin"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the requests for vehicles by age, oldest first */
        get: operations["getAdminRequests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/requests/{id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Approve a request: creates the vehicle and grants it to the user who made the request */
        post: operations["postAdminRequestsByIdApprove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/requests/{id}/decline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Decline a request */
        post: operations["postAdminRequestsByIdDecline"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/sources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the sources of one application or of all, with when each was last seen and what it has sent */
        get: operations["getAdminSources"];
        put?: never;
        /** Create a source, which may send messages of devices of one application; its secret is shown only once */
        post: operations["postAdminSources"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/sources/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Delete a source: its secrets are invalid at once; what it has sent stays */
        delete: operations["deleteAdminSourcesById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/sources/{id}/command-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set or replace the token by which commands are sent to a source of the format flespi */
        put: operations["putAdminSourcesByIdCommandToken"];
        post?: never;
        /** Remove the token of a source: its devices take no commands any more */
        delete: operations["deleteAdminSourcesByIdCommandToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/sources/{id}/secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Replace the secret of a source, shown only once; the old one stays valid for some hours */
        post: operations["postAdminSourcesByIdSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/sources/reseal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Seal the command tokens of all sources under the first of ENCRYPTION_KEYS */
        post: operations["postAdminSourcesReseal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the users of an application */
        get: operations["getAdminUsers"];
        put?: never;
        /** Create a user of an application */
        post: operations["postAdminUsers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/users/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Delete a user; its sessions, grants, bookings and authorizations end */
        delete: operations["deleteAdminUsersByUserId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/users/{userId}/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reset the password of a user; its sessions end */
        post: operations["postAdminUsersByUserIdPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/users/{userId}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End all sessions of a user */
        delete: operations["deleteAdminUsersByUserIdSessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/users/{userId}/vehicles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Grant a user access to a vehicle, or change the role of the grant */
        post: operations["postAdminUsersByUserIdVehicles"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/users/{userId}/vehicles/{vehicleId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke the access of a user to a vehicle */
        delete: operations["deleteAdminUsersByUserIdVehiclesByVehicleId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/vehicles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the vehicles of an application with their devices */
        get: operations["getAdminVehicles"];
        put?: never;
        /** Create a vehicle of an application */
        post: operations["postAdminVehicles"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/vehicles/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set the fuel tank capacity of a vehicle in litres */
        put: operations["putAdminVehiclesById"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/vehicles/{id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Export everything stored about a vehicle, as lines of JSON */
        get: operations["getAdminVehiclesByIdExport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/alarm-rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the rules that raise alarms */
        get: operations["getAlarmRules"];
        put?: never;
        /** Create a rule that raises alarms */
        post: operations["postAlarmRules"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/alarm-rules/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Replace a rule; with other parameters it begins again */
        put: operations["putAlarmRulesById"];
        post?: never;
        /** Delete a rule; its alarms end and stay */
        delete: operations["deleteAlarmRulesById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/alarms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List alarms, the newest first */
        get: operations["getAlarms"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/alarms/{id}/acknowledge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Acknowledge an alarm with a note; of two people, the second is told who was first */
        post: operations["postAlarmsByIdAcknowledge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/bookings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The bookings of an interval over all vehicles, and the requests that wait for a decision */
        get: operations["getCalendar"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Readings in the order in which they were stored, late ones included */
        get: operations["getChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/commands": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The latest commands of a vehicle with their states, the newest first */
        get: operations["getCommands"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/devices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Table of devices with their connection, vehicle, credentials and quarantine, in pages */
        get: operations["getDeviceTable"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/devices/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A device with its connection, links in time and last uploads */
        get: operations["getDeviceDetail"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The fleet live, and the list of events, as server-sent events */
        get: operations["getEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/exports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the exports, newest first */
        get: operations["getExports"];
        put?: never;
        /** Write readings, trips or gaps to a file that is kept for a day */
        post: operations["postExports"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/exports/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** State of an export */
        get: operations["getExportsById"];
        put?: never;
        post?: never;
        /** Delete an export and its file */
        delete: operations["deleteExportsById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/exports/{id}/file": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The file of an export that is done; Range and If-Range resume a download */
        get: operations["getExportsByIdFile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/gbfs/{systemId}/{file}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A file of the GBFS 3.0 feeds of a sharing system, without a token */
        get: operations["getGbfsBySystemIdByFile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/geofences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List geofences */
        get: operations["getGeofences"];
        put?: never;
        /** Create a geofence: a circle around a Point, or a Polygon */
        post: operations["postGeofences"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/geofences/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Replace a geofence; rules that use it begin again */
        put: operations["putGeofencesById"];
        post?: never;
        /** Delete a geofence that no rule uses */
        delete: operations["deleteGeofencesById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/map": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the map of the console is drawn from */
        get: operations["getMap"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show who is signed in, and keep the session alive */
        get: operations["getSession"];
        put?: never;
        /** Sign in a browser as an operator or as a user of an application */
        post: operations["postSession"];
        /** Sign out */
        delete: operations["deleteSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/session/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Change the password of the person who is signed in; other sessions of the person end */
        post: operations["postSessionPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Sign out everywhere: all sessions of the person end, with the access tokens of a user */
        delete: operations["deleteSessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/access": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who may use a vehicle: its Bluetooth authorizations and its grants */
        get: operations["getVehicleByIdAccess"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/breaks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Intervals of location privacy, and of missing readings that did not arrive later */
        get: operations["getVehicleByIdBreaks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Readings, trips or gaps of one vehicle as a file */
        get: operations["getVehicleByIdExport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/fields": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The fields of a vehicle that have data */
        get: operations["getVehicleByIdFields"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/gaps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Missing readings of a vehicle, and gaps that were closed recently */
        get: operations["getVehicleByIdGaps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The devices that are or were linked to a vehicle, the newest link first */
        get: operations["getVehicleByIdLinks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/readings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The newest readings of a vehicle as they are stored, with device, sequence and time of receipt */
        get: operations["getVehicleByIdReadings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/series": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Fields of a vehicle over time, with minimum, maximum, mean and count in each bucket */
        get: operations["getVehicleByIdSeries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/trail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Where a vehicle was in an interval, with its stops, its gaps and totals, for a replay */
        get: operations["getVehicleByIdTrail"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/trips/{tripId}/track": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Positions of a trip, as GeoJSON or GPX */
        get: operations["getVehicleByIdTripsByTripIdTrack"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/values": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every latest value of a vehicle with its time and unit */
        get: operations["getVehicleByIdValues"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Table of vehicles with their latest state, to search, filter and sort; as JSON in pages or as CSV */
        get: operations["getVehicleTable"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicles/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Readings, trips or gaps of all vehicles as a file, vehicle by vehicle */
        get: operations["getVehiclesExport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the webhooks of the application, with the state of their delivery */
        get: operations["getWebhooks"];
        put?: never;
        /** Create a webhook, which events from now on are posted to; its secret is shown only once */
        post: operations["postWebhooks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A webhook with the state of its delivery */
        get: operations["getWebhooksById"];
        /** Replace what is chosen about a webhook; it is enabled unless `enabled` is false */
        put: operations["putWebhooksById"];
        post?: never;
        /** Delete a webhook with its log; what is in flight may still arrive */
        delete: operations["deleteWebhooksById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/webhooks/{id}/dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the events that were given up after three days, the last one first */
        get: operations["getWebhooksByIdDeadLetters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/webhooks/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the attempts of the last three days, the newest first */
        get: operations["getWebhooksByIdDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/webhooks/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send events again: all of them from a time on in order, or some dead letters */
        post: operations["postWebhooksByIdReplay"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/webhooks/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Replace the secret of a webhook, shown only once; for 24 hours both secrets sign */
        post: operations["postWebhooksByIdRotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/webhooks/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Post an event of type webhook.test now, once, and answer what came of it */
        post: operations["postWebhooksByIdTest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Actions: {
            actions: ("IMMOBILIZE" | "CENTRAL-LOCK" | "HONK" | "TURNING-LIGHTS" | "UNLOCK-TRUNK" | "CLOSE-WINDOWS" | "OPEN-WINDOWS")[];
        };
        AdditionalInformation: {
            adblue: boolean;
            additional_model: string;
            bodywork: string;
            color: string;
            combined_fuel_consumption: number;
            combined_horse_power: number;
            commercial_end_date: string;
            commercial_start_date: string;
            crit_air: string;
            cylinders_in_liters: number;
            doors: number;
            engine_code: string;
            euro_standard: string;
            extended_rear_trunk_capacity: number;
            extra_urban_co2: number;
            extra_urban_fuel_consumption: number;
            front_axle_type: string;
            full_version: string;
            gearbox_code: string;
            gearbox_type: string;
            gears: number;
            generation: string;
            horsepower: number;
            injection_label: string;
            injection_type: string;
            max_length: number;
            model: string;
            particulate_filter: boolean;
            phase: string;
            rear_axle_type: string;
            rear_braking_system: string;
            rear_trunk_capacity: number;
            starter_battery_capacity: number;
            starter_battery_power: number;
            transmission_type: string;
            urban_co2: number;
            urban_fuel_consumption: number;
            valves: number;
            version: string;
            wheel_drive: string;
        };
        Alarm: {
            /** Format: date-time */
            acknowledgedAt?: string;
            acknowledgedBy?: string;
            appId: string;
            /** Format: date-time */
            clearedAt?: string;
            commandId?: string;
            id: string;
            /** @enum {string} */
            kind: "towing" | "crash" | "jamming" | "silent" | "low-battery" | "geofence" | "speed" | "unanswered-command";
            late: boolean;
            location?: components["schemas"]["AlarmLocation"];
            note?: string;
            /** Format: date-time */
            noticedAt: string;
            plate: string;
            /** Format: date-time */
            raisedAt: string;
            ruleId: string;
            ruleName: string;
            value?: number;
            vehicleId: string;
        };
        AlarmClearedData: {
            appId: string;
            data: components["schemas"]["Alarm"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "alarm.cleared";
            vehicleId?: string;
        };
        AlarmClearedEvent: {
            data: components["schemas"]["AlarmClearedData"];
            /** @enum {string} */
            event: "alarm.cleared";
        };
        AlarmLocation: {
            latitude: number;
            longitude: number;
        };
        AlarmRaisedData: {
            appId: string;
            data: components["schemas"]["Alarm"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "alarm.raised";
            vehicleId?: string;
        };
        AlarmRaisedEvent: {
            data: components["schemas"]["AlarmRaisedData"];
            /** @enum {string} */
            event: "alarm.raised";
        };
        AlarmRule: {
            /** Format: date-time */
            activeFrom: string;
            appId: string;
            id: string;
            /** @enum {string} */
            kind: "towing" | "crash" | "jamming" | "silent" | "low-battery" | "geofence" | "speed" | "unanswered-command";
            name: string;
            parameters: {
                afterMinutes?: number;
                belowPercent?: number;
                belowVolts?: number;
                canKey?: string;
                geofenceId?: string;
                limitKmh?: number;
                /** @enum {string} */
                when?: "inside" | "outside";
            };
            vehicleIds?: string[];
        };
        Application: {
            appId: string;
            /** Format: date-time */
            createdAt: string;
            name: string;
        };
        ApplicationKey: {
            appId: string;
            appKey: string;
        };
        ApplicationSettings: {
            deviceBytesPerSecond: number;
            deviceUploadsPerSecond: number;
            tariffPerKm: number;
            tariffPerMinute: number;
            timeZone: string;
            version: string;
            /** @enum {string} */
            view: "dynamic" | "fleet" | "combined";
        };
        ArchivedVehicle: {
            /** @enum {string} */
            archived: "true" | "false";
            id: string;
        };
        AuditRow: {
            action: string;
            actor: string;
            address: string;
            /** Format: date-time */
            at: string;
            details: {
                [key: string]: unknown;
            };
            outcome: string;
            position: number;
            subject: string;
        };
        AuditVerdict: {
            appId: string | null;
            erasedRows: number;
            fault?: {
                position: number;
                /** @enum {string} */
                reason: "CHANGED" | "MISSING" | "NOT_IN_CHAIN";
            };
            head: string;
            length: number;
            prunedThrough: number;
        };
        Authorization: {
            /** Format: date-time */
            from: string;
            key: string;
            token: string;
            /** Format: date-time */
            until: string;
            userId: string;
            vehicleId: string;
        };
        AuthorizationChangedData: {
            appId: string;
            data: components["schemas"]["AuthorizationOfEvent"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "authorization.changed";
            vehicleId?: string;
        };
        AuthorizationChangedEvent: {
            data: components["schemas"]["AuthorizationChangedData"];
            /** @enum {string} */
            event: "authorization.changed";
        };
        AuthorizationCreatedData: {
            appId: string;
            data: components["schemas"]["AuthorizationOfEvent"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "authorization.created";
            vehicleId?: string;
        };
        AuthorizationCreatedEvent: {
            data: components["schemas"]["AuthorizationCreatedData"];
            /** @enum {string} */
            event: "authorization.created";
        };
        AuthorizationEndedData: {
            appId: string;
            data: components["schemas"]["AuthorizationOfEvent"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "authorization.ended";
            vehicleId?: string;
        };
        AuthorizationEndedEvent: {
            data: components["schemas"]["AuthorizationEndedData"];
            /** @enum {string} */
            event: "authorization.ended";
        };
        AuthorizationOfEvent: {
            authorizationId?: string;
            /** Format: date-time */
            from?: string;
            /** Format: date-time */
            issuedAt?: string;
            issuedBy?: string;
            /** @enum {string} */
            level?: "LOCK_UNLOCK" | "DRIVE";
            replacedBy?: string;
            /** Format: date-time */
            revokedAt?: string;
            /** Format: date-time */
            suspendedUntil?: string;
            /** Format: date-time */
            until?: string;
            userId?: string;
        };
        Authorizations: {
            authorizations: components["schemas"]["ListedAuthorization"][];
        };
        BluetoothConnection: {
            name: string;
            pin: string;
        };
        Booked: {
            authorization: components["schemas"]["BookedAuthorization"];
            authorizationId: string;
            booked: boolean;
            bookingId: string;
            /** @enum {string} */
            bookingType: "BOOKING" | "FREE_FLOATING";
            commands: components["schemas"]["DeviceCommands"];
            /** Format: date-time */
            from: string;
            until: string | "";
            userId: string;
            vehicleId: string;
        };
        BookedAuthorization: {
            id: string;
            key: string;
            token: string;
        };
        Booking: {
            authorizationId: string;
            /** @enum {string} */
            bookingType: "BOOKING" | "FREE_FLOATING";
            /** Format: date-time */
            from: string;
            id: string;
            until: string | "";
            userId: string;
            vehicleId: string;
        };
        BookingChangedData: {
            appId: string;
            data: components["schemas"]["BookingOfEvent"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "booking.changed";
            vehicleId?: string;
        };
        BookingChangedEvent: {
            data: components["schemas"]["BookingChangedData"];
            /** @enum {string} */
            event: "booking.changed";
        };
        BookingCreatedData: {
            appId: string;
            data: components["schemas"]["BookingOfEvent"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "booking.created";
            vehicleId?: string;
        };
        BookingCreatedEvent: {
            data: components["schemas"]["BookingCreatedData"];
            /** @enum {string} */
            event: "booking.created";
        };
        BookingEndedData: {
            appId: string;
            data: components["schemas"]["BookingOfEvent"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "booking.ended";
            vehicleId?: string;
        };
        BookingEndedEvent: {
            data: components["schemas"]["BookingEndedData"];
            /** @enum {string} */
            event: "booking.ended";
        };
        BookingOfEvent: {
            appId?: string;
            bookingId?: string;
            /** Format: date-time */
            from?: string;
            plate?: string;
            /** @enum {string} */
            state?: "PLANNED" | "ACTIVE" | "ENDED" | "STOPPED" | "DELETED";
            /** Format: date-time */
            stoppedAt?: string;
            /** @enum {string} */
            type?: "BOOKING" | "FREE_FLOATING";
            /** Format: date-time */
            until?: string;
            userId?: string;
            vehicleId?: string;
        };
        Bookings: {
            bookings: components["schemas"]["Booking"][];
        };
        Break: {
            /** Format: date-time */
            from: string;
            /** @enum {string} */
            kind: "PRIVACY" | "GAP";
            missing?: number;
            /** Format: date-time */
            until?: string;
        };
        Calendar: {
            bookings: components["schemas"]["CalendarBooking"][];
            requests: components["schemas"]["PendingVehicleRequest"][];
        };
        CalendarBooking: {
            appId: string;
            bookingId: string;
            /** Format: date-time */
            from: string;
            plate: string;
            /** @enum {string} */
            state: "PLANNED" | "ACTIVE" | "ENDED" | "STOPPED";
            /** Format: date-time */
            stoppedAt?: string;
            /** @enum {string} */
            type: "BOOKING" | "FREE_FLOATING";
            /** Format: date-time */
            until?: string;
            userId: string;
            vehicleId: string;
        };
        CanDatabase: {
            file: string;
            /** Format: date-time */
            importedAt: string;
            messages: number;
            model: string;
            positionKeys: string[];
            sha256: string;
            signals: number;
            vehicles: number;
        };
        CanDatabaseFault: {
            line: number;
            message: string;
        };
        CanDatabaseImport: {
            faults: components["schemas"]["CanDatabaseFault"][];
            file: string;
            messages: number;
            model: string;
            positionKeys: string[];
            sha256: string;
            signals: number;
            stored: boolean;
        };
        CanDatum: {
            key: string;
            value: string;
        };
        CanRedecoding: {
            finishedAt: string | null;
            id: string;
            model: string;
            readingsChanged: number;
            readingsDone: number;
            /** Format: date-time */
            requestedAt: string;
            vehicles: number;
            vehiclesDone: number;
        };
        Card: {
            id: string;
            statut: string;
        };
        Certificate: {
            administrative_power: number;
            brand: string;
            category: string;
            certificate_date: string;
            cnit: string;
            co2: number;
            displacement: number;
            energy: string;
            engine_speed: number;
            environmental_class: string;
            first_registration: string;
            mass_f1: number;
            mass_f2: number;
            mass_f3: number;
            mass_g: number;
            max_net_power: number;
            model: string;
            national_bodywork: string;
            national_type: string;
            plate: string;
            power_mass_ratio: number;
            reception_number: string;
            seats: number;
            sound_level: number;
            standing_places: number;
            type_variant_version: string;
            unloaded_weight: number;
            vin: string;
        };
        Changed: {
            id: string;
        };
        ChangedStates: {
            accident?: boolean;
            breakdown?: boolean;
            maintenance?: boolean;
            stolen?: boolean;
            towing?: boolean;
            unavailable?: boolean;
        };
        Changes: {
            changes: components["schemas"]["StoredReading"][];
            more: boolean;
            next: string;
        };
        CombinedStatus: {
            authenticated?: boolean;
            authorizations?: components["schemas"]["CurrentAuthorization"][];
            /** @enum {string} */
            bluetooth?: "CONNECTED" | "DISCONNECTED" | "";
            cardholder?: components["schemas"]["Card"][];
            ChargeLevel?: number;
            /** @enum {string} */
            chargingAdapterStatus?: "CONNECTED" | "DISCONNECTED" | "";
            /** @enum {string} */
            ChargingStatus?: "CHARGING" | "NOT_CHARGING" | "";
            ChargingUntil?: string | "";
            /** @enum {string} */
            doors?: "OPEN" | "CLOSED" | "";
            electric: components["schemas"]["Electric"];
            /** @enum {string} */
            engine?: "ON" | "OFF" | "";
            fuel?: number;
            fuelRange?: number;
            /** @enum {string} */
            handbrake?: "ON" | "OFF" | "";
            /** @enum {string} */
            immobilizer?: "LOCKED" | "UNLOCKED" | "";
            lastMessage?: string | "";
            /** @enum {string} */
            lights?: "ON" | "OFF" | "";
            location?: components["schemas"]["Location"];
            /** @enum {string} */
            lock?: "LOCKED" | "UNLOCKED" | "";
            mileage?: number;
            position?: components["schemas"]["Position"];
            privacy?: boolean;
            RemainingRange?: number;
            scenarii?: components["schemas"]["Scenarii"];
            sensors: components["schemas"]["Sensor"][];
            speed?: number;
            state: components["schemas"]["CombinedVehicleState"];
            status: components["schemas"]["Status"];
            timestamp: number;
            vehicle: components["schemas"]["Vehicle"];
            vehicleKey?: boolean;
            /** @enum {string} */
            windows?: "OPEN" | "CLOSED" | "";
        };
        CombinedVehicle: {
            accessories: ("TEMPERATURE-SENSOR" | "CARDHOLDER" | "KEY-DETECTOR")[];
            archived: boolean;
            bluetoothName: string;
            builder: string;
            deviceId: string;
            deviceModel: string;
            energy: string;
            /** @enum {string} */
            gearbox: "AUTOMATIC" | "MANUAL" | "";
            id: string;
            kind: string;
            location?: components["schemas"]["Location"];
            model: string;
            plate: string;
            seats: number;
            status?: components["schemas"]["Status"];
            timestamp?: number;
            vehicle?: components["schemas"]["Vehicle"];
        };
        CombinedVehicleState: {
            accident: boolean;
            Accident: boolean;
            breakdown: boolean;
            Breakdown: boolean;
            maintenance: boolean;
            Maintenance: boolean;
            stolen: boolean;
            Stolen: boolean;
            towing: boolean;
            Towing: boolean;
            unavailable: boolean;
            Unavailable: boolean;
        };
        Command: {
            /** @enum {string} */
            action: "IMMOBILIZE" | "START" | "LOCK" | "UNLOCK" | "HONK" | "TURNING-LIGHTS" | "UNLOCK-TRUNK" | "OPEN-WINDOWS" | "CLOSE-WINDOWS" | "STATUS";
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            endedAt?: string;
            /** Format: date-time */
            expiresAt: string;
            id: string;
            message?: string;
            reason?: string;
            /** Format: date-time */
            sentAt?: string;
            /** @enum {string} */
            state: "pending" | "sent" | "acknowledged" | "refused" | "unknown" | "expired";
            status?: string;
        };
        CommandEndedData: {
            appId: string;
            data: components["schemas"]["CommandOfEvent"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "command.ended";
            vehicleId?: string;
        };
        CommandEndedEvent: {
            data: components["schemas"]["CommandEndedData"];
            /** @enum {string} */
            event: "command.ended";
        };
        CommandOfEvent: {
            /** @enum {string} */
            action?: "IMMOBILIZE" | "START" | "LOCK" | "UNLOCK" | "HONK" | "TURNING-LIGHTS" | "UNLOCK-TRUNK" | "OPEN-WINDOWS" | "CLOSE-WINDOWS" | "STATUS";
            /** Format: date-time */
            createdAt?: string;
            /** Format: date-time */
            endedAt?: string;
            /** Format: date-time */
            expiresAt?: string;
            id?: string;
            message?: string;
            reason?: string;
            /** Format: date-time */
            sentAt?: string;
            /** @enum {string} */
            state?: "pending" | "sent" | "acknowledged" | "refused" | "unknown" | "expired";
            status?: string;
            vehicleId?: string;
        };
        Commands: {
            commands: components["schemas"]["Command"][];
        };
        ConnectionOfEvent: {
            deviceId: string;
        };
        CurrentAuthorization: {
            authorizationId: string;
            /** Format: date-time */
            from: string;
            /** Format: date-time */
            until: string;
            userId: string;
        };
        CustomCanReading: {
            can: components["schemas"]["CanDatum"][];
            location?: components["schemas"]["Location"];
            sensors: components["schemas"]["Sensor"][];
            status: components["schemas"]["Status"];
            timestamp: number;
            vehicle: components["schemas"]["Vehicle"];
        };
        DeadLetter: {
            error: string;
            eventId: string;
            /** Format: date-time */
            failedAt: string;
            /** Format: date-time */
            time: string;
            type: string;
            vehicleId?: string;
        };
        Deleted: {
            deleted: boolean;
        };
        Delivery: {
            attempt: number;
            durationMs: number;
            error?: string;
            eventId: string;
            id: string;
            status?: number;
            /** Format: date-time */
            time: string;
            type: string;
            vehicleId?: string;
        };
        DeviceCommands: {
            closeWindows: string;
            demobilize: string;
            digitalOutput: {
                [key: string]: number;
            };
            encryptCloseWindows: boolean;
            encryptDemobilize: boolean;
            encryptHonk: boolean;
            encryptImmobilize: boolean;
            encryptLock: boolean;
            encryptOpenWindows: boolean;
            encryptReadio: boolean;
            encryptTurningLights: boolean;
            encryptUnlock: boolean;
            encryptUnlockTrunk: boolean;
            honk: string;
            immobilize: string;
            key: string;
            lock: string;
            openWindows: string;
            turningLights: string;
            unlock: string;
            unlockTrunk: string;
        };
        DeviceConnectedData: {
            appId: string;
            data: components["schemas"]["ConnectionOfEvent"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "device.connected";
            vehicleId?: string;
        };
        DeviceConnectedEvent: {
            data: components["schemas"]["DeviceConnectedData"];
            /** @enum {string} */
            event: "device.connected";
        };
        DeviceConnection: {
            teltonika: string[];
            urls: string[];
        };
        DeviceDetail: {
            appId: string;
            connected: boolean;
            /** Format: date-time */
            createdAt: string;
            deviceId: string;
            /** Format: date-time */
            disconnectedSince?: string;
            /** Format: date-time */
            lastUpload?: string;
            /** Format: date-time */
            linkedSince?: string;
            links: components["schemas"]["DeviceLink"][];
            model: string;
            plate: string;
            /** Format: date-time */
            previousSecretUntil?: string;
            /** @enum {string} */
            protocol: "mqtt" | "teltonika" | "source";
            quarantined: number;
            /** Format: date-time */
            secretIssuedAt: string;
            uploads: components["schemas"]["StoredUpload"][];
            vehicleId: string;
        };
        DeviceDisconnectedData: {
            appId: string;
            data: components["schemas"]["ConnectionOfEvent"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "device.disconnected";
            vehicleId?: string;
        };
        DeviceDisconnectedEvent: {
            data: components["schemas"]["DeviceDisconnectedData"];
            /** @enum {string} */
            event: "device.disconnected";
        };
        DeviceImport: {
            devices: components["schemas"]["ImportedDevice"][];
            faults: components["schemas"]["DeviceImportFault"][];
            lines: number;
        };
        DeviceImportFault: {
            column: string;
            line: number;
            message: string;
        };
        DeviceKey: {
            deviceId: string;
            key: string;
            keyVersion: number;
        };
        DeviceKeyState: {
            confirmedAt: string | null;
            confirmedVersion: number;
            deviceId: string;
            epoch: number;
            keyVersion: number;
            listVersion: number;
            publishedVersion: number;
            refusedReason: null | string;
        };
        DeviceLink: {
            /** Format: date-time */
            from?: string;
            plate: string;
            /** Format: date-time */
            until?: string;
            vehicleId: string;
        };
        DeviceLinkedData: {
            appId: string;
            data: components["schemas"]["LinkOfEvent"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "device.linked";
            vehicleId?: string;
        };
        DeviceLinkedEvent: {
            data: components["schemas"]["DeviceLinkedData"];
            /** @enum {string} */
            event: "device.linked";
        };
        DeviceModel: {
            actions: ("IMMOBILIZE" | "START" | "LOCK" | "UNLOCK" | "HONK" | "TURNING-LIGHTS" | "UNLOCK-TRUNK" | "OPEN-WINDOWS" | "CLOSE-WINDOWS" | "STATUS")[];
            bluetooth: boolean;
            commands: {
                "CLOSE-WINDOWS"?: {
                    flespi?: {
                        name: string;
                        properties: {
                            [key: string]: unknown;
                        };
                    };
                    refusal: string[];
                    success?: string[];
                    text?: string;
                };
                HONK?: {
                    flespi?: {
                        name: string;
                        properties: {
                            [key: string]: unknown;
                        };
                    };
                    refusal: string[];
                    success?: string[];
                    text?: string;
                };
                IMMOBILIZE?: {
                    flespi?: {
                        name: string;
                        properties: {
                            [key: string]: unknown;
                        };
                    };
                    refusal: string[];
                    success?: string[];
                    text?: string;
                };
                LOCK?: {
                    flespi?: {
                        name: string;
                        properties: {
                            [key: string]: unknown;
                        };
                    };
                    refusal: string[];
                    success?: string[];
                    text?: string;
                };
                "OPEN-WINDOWS"?: {
                    flespi?: {
                        name: string;
                        properties: {
                            [key: string]: unknown;
                        };
                    };
                    refusal: string[];
                    success?: string[];
                    text?: string;
                };
                START?: {
                    flespi?: {
                        name: string;
                        properties: {
                            [key: string]: unknown;
                        };
                    };
                    refusal: string[];
                    success?: string[];
                    text?: string;
                };
                STATUS?: {
                    flespi?: {
                        name: string;
                        properties: {
                            [key: string]: unknown;
                        };
                    };
                    refusal: string[];
                    success?: string[];
                    text?: string;
                };
                "TURNING-LIGHTS"?: {
                    flespi?: {
                        name: string;
                        properties: {
                            [key: string]: unknown;
                        };
                    };
                    refusal: string[];
                    success?: string[];
                    text?: string;
                };
                UNLOCK?: {
                    flespi?: {
                        name: string;
                        properties: {
                            [key: string]: unknown;
                        };
                    };
                    refusal: string[];
                    success?: string[];
                    text?: string;
                };
                "UNLOCK-TRUNK"?: {
                    flespi?: {
                        name: string;
                        properties: {
                            [key: string]: unknown;
                        };
                    };
                    refusal: string[];
                    success?: string[];
                    text?: string;
                };
            };
            digitalOutputs: {
                closeWindows?: number;
                demobilize?: number;
                honk?: number;
                immobilize?: number;
                lock?: number;
                openWindows?: number;
                turningLights?: number;
                unlock?: number;
                unlockTrunk?: number;
            };
            encryptedCommands: ("immobilize" | "demobilize" | "lock" | "unlock" | "honk" | "turningLights" | "unlockTrunk" | "openWindows" | "closeWindows" | "readio")[];
            /** @enum {string} */
            family?: "fmb" | "ftc" | "tat" | "fmx6";
            name: string;
            proprietaryCan: boolean;
            /** @enum {string} */
            protocol: "mqtt" | "teltonika" | "source";
            scenarii: {
                crash_detection?: string;
                gnss_jamming?: string;
                gps_jamming?: string;
                towing_detection?: string;
            };
        };
        DeviceSecret: {
            deviceId: string;
            secret: string;
        };
        DeviceSilentData: {
            appId: string;
            data: components["schemas"]["SilenceOfEvent"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "device.silent";
            vehicleId?: string;
        };
        DeviceSilentEvent: {
            data: components["schemas"]["DeviceSilentData"];
            /** @enum {string} */
            event: "device.silent";
        };
        DeviceTable: {
            devices: components["schemas"]["TableDevice"][];
            total: number;
        };
        DeviceUnlinkedData: {
            appId: string;
            data: components["schemas"]["LinkOfEvent"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "device.unlinked";
            vehicleId?: string;
        };
        DeviceUnlinkedEvent: {
            data: components["schemas"]["DeviceUnlinkedData"];
            /** @enum {string} */
            event: "device.unlinked";
        };
        Done: Record<string, never>;
        DriverVehicle: {
            Archived: boolean;
            authorizations: components["schemas"]["ListedAuthorization"][];
            Builder: string;
            deviceId: string;
            deviceModel: string;
            Id: string;
            Model: string;
            Plate: string;
        };
        DynamicVehicle: {
            location?: components["schemas"]["Location"];
            status: components["schemas"]["Status"];
            timestamp: number;
            vehicle: components["schemas"]["Vehicle"];
        };
        Electric: {
            current: number;
            energy: number;
            lifetimeChargePower: number;
            lifetimePowerUse: number;
            maxCellTemperature: number;
            maxCellVoltage: number;
            maxEnergy: number;
            minCellTemperature: number;
            minCellVoltage: number;
            soc: number;
            soh: number;
            temperature: number;
            voltage: number;
        };
        ElectricData: {
            "1st_battery_kwh_capacity": number;
            "1st_rear_engine_horsepower": number;
            "1st_rear_engine_kw_power": number;
            "1st_rear_engine_nm_torque": number;
            "1st_rear_engine_type": string;
            "2nd_battery_kwh_capacity": number;
            "2nd_rear_engine_horsepower": number;
            "2nd_rear_engine_kw_power": number;
            "2nd_rear_engine_nm_torque": number;
            "2nd_rear_engine_type": string;
            ac_charger_power_kw: number;
            ac_charging_time_80_home_min: number;
            ac_charging_time_80_home_reinforced_min: number;
            ac_charging_time_80_wallbox_min: number;
            acceleration_0_100: number;
            battery_kw_power: number;
            battery_layout: string;
            battery_type: string;
            battery_voltage: number;
            battery_weight: number;
            charging_plug: string;
            combined_consumption_kwh_100km_summer: number;
            combined_consumption_kwh_100km_winter: number;
            combined_kw_power: number;
            combined_nm_torque: number;
            dc_charger_power_kw: number;
            dc_charging_time_min: number;
            engine_cooling_type: string;
            front_engine_horsepower: number;
            front_engine_kw_power: number;
            front_engine_nm_torque: number;
            front_engine_type: string;
            highway_consumption_kwh_100km_summer: number;
            highway_consumption_kwh_100km_winter: number;
            max_speed: number;
            urban_consumption_kwh_100km_summer: number;
            urban_consumption_kwh_100km_winter: number;
            usable_1st_battery_kwh_capacity: number;
            usable_2nd_battery_kwh_capacity: number;
            wltp_combined_autonomy_summer: number;
            wltp_combined_autonomy_winter: number;
            wltp_highway_autonomy_summer: number;
            wltp_highway_autonomy_winter: number;
            wltp_urban_autonomy_summer: number;
            wltp_urban_autonomy_winter: number;
        };
        ErasedPerson: {
            changed: {
                [key: string]: number;
            };
            pseudonym: string;
        };
        ExplainedRegistration: {
            known: boolean;
            outcomes: {
                [key: string]: string;
            };
            record: components["schemas"]["RegistrationRecord"];
            sources: {
                [key: string]: string;
            };
            vin: components["schemas"]["VinReport"] | null;
        };
        ExportJob: {
            bytes: number;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            expiresAt?: string;
            fields?: string;
            /** Format: date-time */
            finishedAt?: string;
            /** @enum {string} */
            format: "csv" | "ndjson" | "gpx" | "geojson" | "parquet";
            /** Format: date-time */
            from: string;
            id: string;
            /** @enum {string} */
            of: "readings" | "trips" | "gaps";
            progress: number;
            reason?: string;
            rows: number;
            /** @enum {string} */
            state: "QUEUED" | "RUNNING" | "DONE" | "FAILED";
            /** Format: date-time */
            until: string;
            vehicleId?: string;
        };
        ExportJobs: {
            exports: components["schemas"]["ExportJob"][];
        };
        Failure: {
            /** @enum {unknown} */
            error: "ALREADY_ACKNOWLEDGED" | "ALREADY_DECIDED" | "ALREADY_EXISTS" | "AUTHORIZATION_EXPIRED" | "AUTHORIZATION_NOT_ACTIVE" | "BOOKING_EXPIRED" | "CHANGED_MEANWHILE" | "COMMUNICATION_FAILED" | "DEVICE_ALREADY_LINKED" | "DRIVER_WITHOUT_ACCOUNT" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_BOOKING_TYPE" | "INVALID_CLAIM_CODE" | "INVALID_CREDENTIALS" | "INVALID_DATE" | "INVALID_DEVICE" | "INVALID_INTERVAL" | "INVALID_LEVEL" | "INVALID_OLD_PASSWORD" | "INVALID_PARAMETER" | "INVALID_PASSWORD_LENGTH" | "INVALID_TOKEN" | "IN_USE" | "LAST_ADMINISTRATOR" | "METHOD_NOT_ALLOWED" | "MISSING_ADDRESS" | "MISSING_CITY" | "MISSING_COUNTRY" | "MISSING_NAME" | "MISSING_PARKING" | "MISSING_TOKEN" | "MISSING_ZIPCODE" | "NOT_ALL_AUTHORIZATIONS_REVOKED" | "NOT_FOUND" | "NOT_SUSPENDED" | "NO_DATA" | "NO_DEVICE" | "NO_PARKING" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "POSITION_UNKNOWN" | "TOKEN_EXPIRED" | "TOO_MANY" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_AUTHORIZATION" | "UNKNOWN_DEVICE" | "UNKNOWN_USER" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ALREADY_LINKED" | "VEHICLE_ARCHIVED" | "VEHICLE_NOT_AVAILABLE";
            field?: string;
            message: string;
            oldest?: string;
            reason?: string;
        };
        Field: {
            field: string;
            unit: string;
        };
        Fields: {
            fields: components["schemas"]["Field"][];
        };
        FleetVehicle: {
            accessories: ("TEMPERATURE-SENSOR" | "CARDHOLDER" | "KEY-DETECTOR")[];
            archived: boolean;
            bluetoothName: string;
            builder: string;
            deviceId: string;
            deviceModel: string;
            energy: string;
            /** @enum {string} */
            gearbox: "AUTOMATIC" | "MANUAL" | "";
            id: string;
            kind: string;
            model: string;
            plate: string;
            seats: number;
        };
        FleetVehicleDetail: {
            accessories: ("TEMPERATURE-SENSOR" | "CARDHOLDER" | "KEY-DETECTOR")[];
            bluetoothName: string;
            builder: string;
            deviceId: string;
            deviceModel: string;
            energy: string;
            Id: string;
            model: string;
            plate: string;
        };
        FleetVehicleState: {
            Accident: boolean;
            Breakdown: boolean;
            Maintenance: boolean;
            Stolen: boolean;
            Towing: boolean;
            Unavailable: boolean;
        };
        FleetVehicleStatus: {
            authenticated?: boolean;
            authorizations: components["schemas"]["CurrentAuthorization"][];
            /** @enum {string} */
            bluetooth: "CONNECTED" | "DISCONNECTED" | "";
            cardholder: components["schemas"]["Card"][];
            ChargeLevel: number;
            /** @enum {string} */
            chargingAdapterStatus: "CONNECTED" | "DISCONNECTED" | "";
            /** @enum {string} */
            ChargingStatus: "CHARGING" | "NOT_CHARGING" | "";
            ChargingUntil: string | "";
            /** @enum {string} */
            doors: "OPEN" | "CLOSED" | "";
            /** @enum {string} */
            engine: "ON" | "OFF" | "";
            fuel: number;
            fuelRange: number;
            /** @enum {string} */
            handbrake: "ON" | "OFF" | "";
            /** @enum {string} */
            immobilizer: "LOCKED" | "UNLOCKED" | "";
            lastMessage: string | "";
            /** @enum {string} */
            lights: "ON" | "OFF" | "";
            /** @enum {string} */
            lock: "LOCKED" | "UNLOCKED" | "";
            mileage: number;
            position?: components["schemas"]["Position"];
            privacy: boolean;
            RemainingRange: number;
            scenarii: components["schemas"]["Scenarii"];
            speed: number;
            state: components["schemas"]["FleetVehicleState"];
            vehicleKey: boolean;
            /** @enum {string} */
            windows: "OPEN" | "CLOSED" | "";
        };
        Fluids: {
            air_conditioning_gas_capacity_max: number;
            air_conditioning_gas_capacity_min: number;
            air_conditioning_gas_standard: string;
            brake_fluid_capacity: number;
            brake_fluid_standard: string;
            engine_coolant_capacity_max: number;
            engine_coolant_capacity_min: number;
            engine_coolant_type: string;
            engine_oil_acea: string;
            engine_oil_standard: string;
            engine_oil_viscosity: string;
            engine_oil_with_filter_capacity_max: number;
            engine_oil_with_filter_capacity_min: number;
            fuel_tank_capacity: number;
            power_steering_fluid_capacity: number;
            power_steering_fluid_standard: string;
        };
        Gap: {
            /** Format: date-time */
            closedAt?: string;
            deviceId: string;
            fromSequence: number;
            missing: number;
            /** Format: date-time */
            since: string;
            /** @enum {string} */
            state: "OPEN" | "ARRIVED" | "RESTARTED" | "GIVEN_UP";
            untilSequence: number;
        };
        GbfsFeed: {
            data: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            last_updated: string;
            ttl: number;
            version: string;
        };
        GbfsPublication: {
            discoveryUrl: string;
        };
        GbfsPublicationSettings: {
            discoveryUrl: string;
            settings: {
                geofencing?: {
                    globalRules: {
                        maximum_speed_kph?: number;
                        ride_end_allowed: boolean;
                        ride_start_allowed: boolean;
                        ride_through_allowed: boolean;
                        station_parking?: boolean;
                        vehicle_type_ids?: string[];
                    }[];
                    zones: {
                        /** Format: date-time */
                        end?: string;
                        /** Format: uuid */
                        geofenceId: string;
                        name?: {
                            language: string;
                            text: string;
                        }[];
                        rules?: {
                            maximum_speed_kph?: number;
                            ride_end_allowed: boolean;
                            ride_start_allowed: boolean;
                            ride_through_allowed: boolean;
                            station_parking?: boolean;
                            vehicle_type_ids?: string[];
                        }[];
                        /** Format: date-time */
                        start?: string;
                    }[];
                };
                positionMaxAgeMinutes?: number;
                pricingPlans?: {
                    currency: string;
                    description: {
                        language: string;
                        text: string;
                    }[];
                    is_taxable: boolean;
                    name: {
                        language: string;
                        text: string;
                    }[];
                    per_km_pricing?: {
                        end?: number;
                        interval: number;
                        rate: number;
                        start: number;
                    }[];
                    per_min_pricing?: {
                        end?: number;
                        interval: number;
                        rate: number;
                        start: number;
                    }[];
                    plan_id: string;
                    price: number;
                    surge_pricing?: boolean;
                    /** Format: uri */
                    url?: string;
                }[];
                publicUrl: string;
                stationRadiusMetres?: number;
                stations: ("all" | "none") | string[];
                system: {
                    attribution_organization_name?: {
                        language: string;
                        text: string;
                    }[];
                    /** Format: uri */
                    attribution_url?: string;
                    /** Format: email */
                    email?: string;
                    /** Format: email */
                    feed_contact_email: string;
                    languages: string[];
                    license_id?: string;
                    /** Format: uri */
                    license_url?: string;
                    /** Format: uri */
                    manifest_url?: string;
                    name: {
                        language: string;
                        text: string;
                    }[];
                    opening_hours: string;
                    operator?: {
                        language: string;
                        text: string;
                    }[];
                    phone_number?: string;
                    /** Format: date */
                    privacy_last_updated?: string;
                    privacy_url?: {
                        language: string;
                        /** Format: uri */
                        text: string;
                    }[];
                    /** Format: uri */
                    purchase_url?: string;
                    rental_apps?: {
                        android?: {
                            /** Format: uri */
                            discovery_uri: string;
                            /** Format: uri */
                            store_uri: string;
                        };
                        ios?: {
                            /** Format: uri */
                            discovery_uri: string;
                            /** Format: uri */
                            store_uri: string;
                        };
                    };
                    short_name?: {
                        language: string;
                        text: string;
                    }[];
                    /** Format: date */
                    start_date?: string;
                    system_id: string;
                    /** Format: date */
                    termination_date?: string;
                    /** Format: date */
                    terms_last_updated?: string;
                    terms_url?: {
                        language: string;
                        /** Format: uri */
                        text: string;
                    }[];
                    timezone: string;
                    /** Format: uri */
                    url?: string;
                };
                ttlSeconds?: number;
                vehicleIds?: string[];
                vehicleTypes: {
                    cargo_load_capacity?: number;
                    cargo_volume_capacity?: number;
                    color?: string;
                    default_pricing_plan_id?: string;
                    default_reserve_time?: number;
                    description?: {
                        language: string;
                        text: string;
                    }[];
                    eco_labels?: {
                        country_code: string;
                        eco_sticker: string;
                    }[];
                    /** @enum {unknown} */
                    form_factor: "bicycle" | "cargo_bicycle" | "car" | "moped" | "scooter_standing" | "scooter_seated" | "other";
                    g_CO2_km?: number;
                    make?: {
                        language: string;
                        text: string;
                    }[];
                    match?: {
                        brand?: string;
                        energy?: string;
                        kind?: string;
                        model?: string;
                    };
                    max_permitted_speed?: number;
                    max_range_meters?: number;
                    model?: {
                        language: string;
                        text: string;
                    }[];
                    name?: {
                        language: string;
                        text: string;
                    }[];
                    pricing_plan_ids?: string[];
                    /** @enum {unknown} */
                    propulsion_type: "human" | "electric_assist" | "electric" | "combustion" | "combustion_diesel" | "hybrid" | "plug_in_hybrid" | "hydrogen_fuel_cell";
                    rangeIfUnknownMeters?: number;
                    rated_power?: number;
                    /** @enum {unknown} */
                    return_constraint?: "free_floating" | "roundtrip_station" | "any_station" | "hybrid";
                    rider_capacity?: number;
                    vehicle_accessories?: ("air_conditioning" | "automatic" | "manual" | "convertible" | "cruise_control" | "navigation" | "doors_2" | "doors_3")[];
                    /** Format: uri */
                    vehicle_image?: string;
                    vehicle_type_id: string;
                    wheel_count?: number;
                }[];
            };
            /** Format: date-time */
            updatedAt: string;
        };
        Geofence: {
            appId: string;
            geometry: components["schemas"]["GeofenceCentre"] | components["schemas"]["GeofencePolygon"];
            id: string;
            name: string;
            radiusMetres?: number;
        };
        GeofenceCentre: {
            coordinates: number[];
            /** @enum {string} */
            type: "Point";
        };
        GeofencePolygon: {
            coordinates: number[][][];
            /** @enum {string} */
            type: "Polygon";
        };
        Grant: {
            plate: string;
            /** @enum {string} */
            role: "viewer" | "driver" | "manager";
            vehicleId: string;
        };
        Health: {
            services: {
                [key: string]: components["schemas"]["ServiceHealth"];
            };
            /** @enum {string} */
            status: "ok" | "failing" | "draining";
        };
        HeldAuthorization: {
            authorizationId: string;
            /** Format: date-time */
            from: string;
            /** Format: date-time */
            issuedAt: string;
            issuedBy?: string;
            /** @enum {string} */
            level: "LOCK_UNLOCK" | "DRIVE";
            /** Format: date-time */
            revokedAt?: string;
            /** Format: date-time */
            suspendedUntil?: string;
            /** Format: date-time */
            until: string;
            userId: string;
        };
        HeldGrant: {
            /** @enum {string} */
            role: "viewer" | "driver" | "manager";
            userId: string;
            username: string;
        };
        History: {
            status: components["schemas"]["HistoryReading"][];
        };
        HistoryReading: {
            electric: components["schemas"]["Electric"];
            location?: components["schemas"]["Location"];
            sensors: components["schemas"]["Sensor"][];
            status: components["schemas"]["Status"];
            timestamp: number;
            vehicle: components["schemas"]["Vehicle"];
        };
        ImportedDevice: {
            claimCode?: string;
            deviceId: string;
            model: string;
            secret: string;
        };
        ImportedReadings: {
            accepted: number;
            faults: {
                field?: string;
                index: number;
                message: string;
                reason: string;
            }[];
        };
        ImportFault: {
            field: string;
            line: number;
            message: string;
        };
        ImportState: {
            bad: number;
            changed: number;
            faults: components["schemas"]["ImportFault"][];
            finished: boolean;
            position: number;
            unchanged: number;
        };
        IssuedAuthorization: {
            authorizationId: string;
            key: string;
            token: string;
        };
        LatestValue: {
            field?: string;
            group: string;
            name: string;
            /** Format: date-time */
            time: string;
            unit: string;
            value: string | number | boolean;
        };
        LinkOfEvent: {
            deviceId: string;
            /** Format: date-time */
            from?: string;
            /** Format: date-time */
            until?: string;
        };
        ListedAuthorization: {
            authorizationId: string;
            /** Format: date-time */
            from: string;
            /** Format: date-time */
            until: string;
        };
        ListedDevice: {
            appId: string | null;
            /** Format: date-time */
            createdAt: string;
            deviceId: string;
            model: string;
            vehicleId: string | null;
        };
        ListedOperator: {
            appIds: string[];
            /** Format: date-time */
            createdAt: string;
            mustChangePassword: boolean;
            name: string;
            /** @enum {string} */
            role: "viewer" | "operator" | "administrator";
            usedAt: string | null;
            version: string;
        };
        ListedSource: {
            appId: string;
            /** Format: date-time */
            createdAt: string;
            createDevices: boolean;
            devices: number;
            /** @enum {string} */
            format: "traccar" | "flespi" | "tesla" | "owntracks" | "osmand";
            lastSeenAt: string | null;
            messages: number;
            refusedRequests: number;
            sourceId: string;
            takesCommands: boolean;
            unknownMessages: number;
        };
        LiveAlarmEvent: {
            data: components["schemas"]["Alarm"];
            /** @enum {string} */
            event: "alarm";
        };
        LiveCell: {
            count: number;
            id: string;
            latitude: number;
            longitude: number;
            moving: number;
            parked: number;
            silent: number;
        };
        LiveCells: {
            cells: components["schemas"]["LiveCell"][];
        };
        LiveCellsEvent: {
            data: components["schemas"]["LiveCells"];
            /** @enum {string} */
            event: "cells";
        };
        LiveChanges: {
            left: string[];
            vehicles: components["schemas"]["LiveVehicle"][];
        };
        LiveChangesEvent: {
            data: components["schemas"]["LiveChanges"];
            /** @enum {string} */
            event: "changes";
        };
        LiveCommand: {
            /** @enum {string} */
            action: "IMMOBILIZE" | "START" | "LOCK" | "UNLOCK" | "HONK" | "TURNING-LIGHTS" | "UNLOCK-TRUNK" | "OPEN-WINDOWS" | "CLOSE-WINDOWS" | "STATUS";
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            endedAt?: string;
            /** Format: date-time */
            expiresAt: string;
            id: string;
            message?: string;
            reason?: string;
            /** Format: date-time */
            sentAt?: string;
            /** @enum {string} */
            state: "pending" | "sent" | "acknowledged" | "refused" | "unknown" | "expired";
            status?: string;
            vehicleId: string;
        };
        LiveCommandEvent: {
            data: components["schemas"]["LiveCommand"];
            /** @enum {string} */
            event: "command";
        };
        LiveLocation: {
            angle?: number;
            latitude: number;
            longitude: number;
            /** Format: date-time */
            time: string;
        };
        LiveReset: {
            /** @enum {string} */
            mode: "vehicles" | "cells";
            /** @enum {string} */
            reason: "START" | "EXPIRED" | "ACCESS" | "MODE";
        };
        LiveResetEvent: {
            data: components["schemas"]["LiveReset"];
            /** @enum {string} */
            event: "reset";
        };
        LiveSnapshot: {
            complete: boolean;
            vehicles: components["schemas"]["LiveVehicle"][];
        };
        LiveSnapshotEvent: {
            data: components["schemas"]["LiveSnapshot"];
            /** @enum {string} */
            event: "snapshot";
        };
        LiveVehicle: {
            alarms: ("towing" | "crash" | "jamming" | "silent" | "low-battery" | "geofence" | "speed" | "unanswered-command")[];
            appId: string;
            brand: string;
            deviceId: string;
            flags: ("towing" | "accident" | "maintenance" | "breakdown" | "stolen" | "unavailable")[];
            id: string;
            /** Format: date-time */
            lastContact?: string;
            location?: components["schemas"]["LiveLocation"];
            model: string;
            /** Format: date-time */
            parkedSince?: string;
            plate: string;
            soc?: number;
            speed?: number;
            /** @enum {string} */
            state: "moving" | "parked" | "silent" | "private";
            vin: string;
        };
        Location: {
            altitude: number;
            angle: number;
            latitude: number;
            longitude: number;
        };
        Login: {
            refresh_token: string;
            /** Format: date-time */
            refresh_until: string;
            token: string;
            /** Format: date-time */
            until: string;
            update_password: boolean;
        };
        MapSettings: {
            attribution: string;
            fault?: string;
            /** @enum {string} */
            kind: "world" | "vector-file" | "raster-file" | "images" | "style";
            url?: string;
        };
        NewDevice: {
            claimCode?: string;
            deviceId: string;
            secret: string;
        };
        OperatedVehicle: {
            accessories: ("TEMPERATURE-SENSOR" | "CARDHOLDER" | "KEY-DETECTOR")[];
            archived: boolean;
            brand: string;
            deviceId: string | null;
            energy: string;
            /** @enum {string} */
            gearbox: "AUTOMATIC" | "MANUAL" | "";
            id: string;
            kind: string;
            model: string;
            plate: string;
            seats: number;
            vin: string;
        };
        OperatorPassword: {
            name: string;
            password: string;
        };
        ParkingSpot: {
            address: string;
            address2: string;
            city: string;
            country: string;
            id: string;
            latitude?: number;
            longitude?: number;
            name: string;
            shortId: string;
            zipcode: string;
        };
        PendingVehicleRequest: {
            appId: string;
            /** Format: date-time */
            createdAt: string;
            plate: string;
            request: string;
            requestId: string;
            userId?: string;
        };
        PersonExport: {
            account: {
                [key: string]: unknown;
            }[];
            audit: {
                [key: string]: unknown;
            }[];
            authorizations: {
                [key: string]: unknown;
            }[];
            bookings: {
                [key: string]: unknown;
            }[];
            commands: {
                [key: string]: unknown;
            }[];
            grants: {
                [key: string]: unknown;
            }[];
            requests: {
                [key: string]: unknown;
            }[];
            sessions: {
                [key: string]: unknown;
            }[];
            trips: {
                [key: string]: unknown;
            }[];
        };
        PipelinePoint: {
            acceptedUploadsPerSecond: number | null;
            /** Format: date-time */
            at: string;
            connectedDevices: number | null;
            databaseBytes: number | null;
            heldBytes: number | null;
            lagP50Ms: number | null;
            lagP99Ms: number | null;
            oldestJobSeconds: number | null;
            pubackP50Ms: number | null;
            pubackP99Ms: number | null;
            quarantinedUploadsPerSecond: number | null;
            redisBytes: number | null;
            refusedPacketsPerSecond: number | null;
            storedReadingsPerSecond: number | null;
            waitingJobs: number | null;
        };
        Position: {
            latitude: number;
            longitude: number;
            /** Format: date-time */
            timestamp: string;
        };
        PositionAnswer: {
            Position: components["schemas"]["Position"];
        };
        QuarantinedUpload: {
            bytes: number;
            deviceId: string;
            dismissedReason: null | string;
            faults: components["schemas"]["QuarantineFault"][];
            /** @enum {string} */
            format: "native" | "teltonika" | "teltonika-fmb" | "teltonika-ftc" | "teltonika-tat" | "teltonika-fmx6" | "traccar" | "flespi" | "tesla" | "owntracks" | "osmand";
            id: string;
            partial: boolean;
            /** Format: date-time */
            receivedAt: string;
            resolvedAt: string | null;
            timesSeen: number;
        };
        QuarantineFault: {
            field?: string;
            index: number | null;
            message?: string;
            reason: string;
        };
        QuarantineOfEvent: {
            bytes?: number;
            deviceId?: string;
            reasons?: string[];
            /** Format: date-time */
            receivedAt?: string;
            uploadId?: string;
        };
        QuarantineReason: {
            devices: number;
            /** Format: date-time */
            newestAt: string;
            reason: string;
            uploads: number;
        };
        ReadingStoredData: {
            appId: string;
            data: components["schemas"]["StoredReading"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "reading.stored";
            vehicleId?: string;
        };
        ReadingStoredEvent: {
            data: components["schemas"]["ReadingStoredData"];
            /** @enum {string} */
            event: "reading.stored";
        };
        RecordedReading: {
            alarms?: {
                [key: string]: unknown;
            };
            can?: unknown[];
            deviceId: string;
            electric?: {
                [key: string]: unknown;
            };
            fleet?: {
                [key: string]: unknown;
            };
            location?: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            receivedAt: string;
            sensors?: unknown[];
            sequence?: number;
            status?: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            time: string;
        };
        RegistrationRecord: {
            additional_information: components["schemas"]["AdditionalInformation"];
            certificate: components["schemas"]["Certificate"];
            electric: components["schemas"]["ElectricData"];
            fluids: components["schemas"]["Fluids"];
            tires: components["schemas"]["Tires"][];
        };
        ReleasedDevice: {
            claimCode: string;
            deviceId: string;
        };
        ReplacedAuthorization: {
            authorizationId: string;
            /** Format: date-time */
            from: string;
            key: string;
            token: string;
            /** Format: date-time */
            until: string;
            userId: string;
            vehicleId: string;
        };
        Replaying: {
            deadLetters?: number;
        };
        Resealed: {
            resealed: number;
            total: number;
            unreadable: number;
        };
        Scenarii: {
            crash_detection: components["schemas"]["Scenario"];
            gnss_jamming: components["schemas"]["Scenario"];
            gps_jamming: components["schemas"]["Scenario"];
            towing_detection: components["schemas"]["Scenario"];
        };
        Scenario: {
            action: string;
            active: boolean;
            available: boolean;
            triggered: boolean;
        };
        Sensor: {
            data: components["schemas"]["CanDatum"][];
            name: string;
        };
        Series: {
            count: number[];
            field: string;
            maximum: number[];
            mean: number[];
            minimum: number[];
            times: number[];
        };
        SeriesAnswer: {
            bucketSeconds: number;
            /** Format: date-time */
            from: string;
            /** @enum {string} */
            method: "READINGS" | "BUCKETS" | "SAMPLES";
            series: components["schemas"]["Series"][];
            /** Format: date-time */
            until: string;
        };
        ServiceHealth: {
            ok: boolean;
            state: string;
        };
        SignedInOperator: {
            applications: {
                appId: string;
                name: string;
            }[];
            /** @enum {string} */
            kind: "operator";
            limited: boolean;
            mustChangePassword: boolean;
            name: string;
            /** @enum {string} */
            role: "viewer" | "operator" | "administrator";
        };
        SignedInPerson: components["schemas"]["SignedInOperator"] | components["schemas"]["SignedInUser"];
        SignedInUser: {
            appId: string;
            applicationName: string;
            /** @enum {string} */
            kind: "user";
            mustChangePassword: boolean;
            userId: string;
            username: string;
        };
        SilenceOfEvent: {
            deviceId: string;
            /** Format: date-time */
            lastContact: string;
        };
        SourceSecret: {
            secret: string;
            sourceId: string;
        };
        StateChangedData: {
            appId: string;
            data: components["schemas"]["StateOfEvent"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "state.changed";
            vehicleId?: string;
        };
        StateChangedEvent: {
            data: components["schemas"]["StateChangedData"];
            /** @enum {string} */
            event: "state.changed";
        };
        StateOfEvent: {
            accident?: boolean;
            breakdown?: boolean;
            changed: components["schemas"]["ChangedStates"];
            maintenance?: boolean;
            stolen?: boolean;
            towing?: boolean;
            unavailable?: boolean;
        };
        Status: {
            autonomy: number;
            ignition: boolean;
            mileage: number;
            movement: boolean;
        };
        Stop: {
            /** Format: date-time */
            from: string;
            latitude: number;
            longitude: number;
            seconds: number;
            /** Format: date-time */
            until: string;
        };
        StoredReading: {
            can: components["schemas"]["CanDatum"][];
            electric: components["schemas"]["Electric"];
            location?: components["schemas"]["Location"];
            sensors: components["schemas"]["Sensor"][];
            status: components["schemas"]["Status"];
            timestamp: number;
            vehicle: components["schemas"]["Vehicle"];
        };
        StoredUpload: {
            /** Format: date-time */
            firstTime: string;
            /** Format: date-time */
            lastTime: string;
            readings: number;
            /** Format: date-time */
            receivedAt: string;
            vehicleId: string;
        };
        TableDevice: {
            appId: string;
            connected: boolean;
            /** Format: date-time */
            createdAt: string;
            deviceId: string;
            /** Format: date-time */
            disconnectedSince?: string;
            /** Format: date-time */
            lastUpload?: string;
            /** Format: date-time */
            linkedSince?: string;
            model: string;
            plate: string;
            /** Format: date-time */
            previousSecretUntil?: string;
            /** @enum {string} */
            protocol: "mqtt" | "teltonika" | "source";
            quarantined: number;
            /** Format: date-time */
            secretIssuedAt: string;
            vehicleId: string;
        };
        TableLocation: {
            latitude: number;
            longitude: number;
            /** Format: date-time */
            time: string;
        };
        TableVehicle: {
            alarms: ("towing" | "crash" | "jamming" | "silent" | "low-battery" | "geofence" | "speed" | "unanswered-command")[];
            appId: string;
            brand: string;
            deviceId: string;
            energy: string;
            flags: ("towing" | "accident" | "maintenance" | "breakdown" | "stolen" | "unavailable")[];
            id: string;
            ignition?: boolean;
            /** Format: date-time */
            lastContact?: string;
            location?: components["schemas"]["TableLocation"];
            mileage?: number;
            model: string;
            /** Format: date-time */
            parkedSince?: string;
            plate: string;
            range?: number;
            soc?: number;
            speed?: number;
            /** @enum {string} */
            state: "moving" | "parked" | "silent" | "private" | "archived";
            /** Format: date-time */
            time?: string;
            vin: string;
        };
        TestDelivery: {
            delivered: boolean;
            durationMs: number;
            error?: string;
            eventId: string;
            status?: number;
        };
        Tires: {
            front_display: string;
            front_highway_pressure: number;
            front_is_all_season: boolean;
            front_is_summer: boolean;
            front_is_winter: boolean;
            front_load: number;
            front_normal_pressure: number;
            front_radial: number;
            front_ratio: number;
            front_speed: string;
            front_width: number;
            rear_display: string;
            rear_highway_pressure: number;
            rear_is_all_season: boolean;
            rear_is_summer: boolean;
            rear_is_winter: boolean;
            rear_load: number;
            rear_normal_pressure: number;
            rear_radial: number;
            rear_ratio: number;
            rear_speed: string;
            rear_width: number;
        };
        Tokens: {
            refresh_token: string;
            /** Format: date-time */
            refresh_until: string;
            token: string;
            /** Format: date-time */
            until: string;
        };
        Track: {
            geometry: {
                /** @constant */
                type: "LineString";
            } | null;
            properties: {
                coordTimes: string[];
                trip_id: string;
            };
            /** @constant */
            type: "Feature";
        };
        Trail: {
            points: components["schemas"]["TrailPoint"][];
            stops: components["schemas"]["Stop"][];
            totals: components["schemas"]["TrailTotals"];
        };
        TrailPoint: {
            angle?: number;
            /** @constant */
            gap?: true;
            latitude: number;
            longitude: number;
            speed?: number;
            time: number;
        };
        TrailTotals: {
            distance: number;
            gapSeconds: number;
            maximumSpeed: number;
            movingSeconds: number;
            stoppedSeconds: number;
        };
        Trip: {
            average_speed: number;
            cost: number;
            distance: number;
            duration: number;
            electric_consumption: number;
            electric_consumption_100km: number;
            first_position?: components["schemas"]["TripPosition"];
            fuel_consumption: number;
            fuel_consumption_100km: number;
            last_position?: components["schemas"]["TripPosition"];
            /** Format: date-time */
            timestamp: string;
            trip_id: string;
        };
        TripChangedData: {
            appId: string;
            data: components["schemas"]["TripOfEvent"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "trip.changed";
            vehicleId?: string;
        };
        TripChangedEvent: {
            data: components["schemas"]["TripChangedData"];
            /** @enum {string} */
            event: "trip.changed";
        };
        TripFinishedData: {
            appId: string;
            data: components["schemas"]["TripOfEvent"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "trip.finished";
            vehicleId?: string;
        };
        TripFinishedEvent: {
            data: components["schemas"]["TripFinishedData"];
            /** @enum {string} */
            event: "trip.finished";
        };
        TripOfEvent: {
            average_speed?: number;
            cost?: number;
            distance?: number;
            duration?: number;
            electric_consumption?: number;
            electric_consumption_100km?: number;
            first_position?: components["schemas"]["TripPosition"];
            fuel_consumption?: number;
            fuel_consumption_100km?: number;
            last_position?: components["schemas"]["TripPosition"];
            /** Format: date-time */
            timestamp?: string;
            trip_id?: string;
        };
        TripPosition: {
            latitude: number;
            longitude: number;
        };
        Trips: {
            trips: components["schemas"]["Trip"][];
        };
        UpdatedBooking: {
            authorizationId: string;
            key: string;
            token: string;
            updated: boolean;
        };
        UploadQuarantinedData: {
            appId: string;
            data: components["schemas"]["QuarantineOfEvent"];
            id: string;
            /** Format: date-time */
            time: string;
            /** @enum {string} */
            type: "upload.quarantined";
            vehicleId?: string;
        };
        UploadQuarantinedEvent: {
            data: components["schemas"]["UploadQuarantinedData"];
            /** @enum {string} */
            event: "upload.quarantined";
        };
        User: {
            grants: components["schemas"]["Grant"][];
            mustChangePassword: boolean;
            userId: string;
            username: string;
            vehicleIds: string[];
        };
        Vehicle: {
            brand: string;
            id: string;
            model: string;
            plate: string;
            vin: string;
        };
        VehicleAccess: {
            authorizations: components["schemas"]["HeldAuthorization"][];
            grants: components["schemas"]["HeldGrant"][];
        };
        VehicleLink: {
            deviceId: string;
            /** Format: date-time */
            from?: string;
            /** Format: date-time */
            until?: string;
        };
        VehicleRequest: {
            appId: string;
            /** Format: date-time */
            createdAt: string;
            decidedAt: string | null;
            plate: string;
            reason: string | null;
            request: string;
            requestId: string;
            /** @enum {string} */
            state: "pending" | "approved" | "declined";
            userId: string | null;
            vehicleId: string | null;
        };
        VehicleState: {
            accident: boolean;
            breakdown: boolean;
            maintenance: boolean;
            stolen: boolean;
            towing: boolean;
            unavailable: boolean;
        };
        VehicleStatus: {
            electric: components["schemas"]["Electric"];
            location?: components["schemas"]["Location"];
            sensors: components["schemas"]["Sensor"][];
            state: components["schemas"]["VehicleState"];
            status: components["schemas"]["Status"];
            timestamp: number;
            vehicle: components["schemas"]["Vehicle"];
        };
        VehicleTable: {
            total?: number;
            vehicles: components["schemas"]["TableVehicle"][];
        };
        VinReport: {
            /** @enum {string} */
            checkDigit: "valid" | "invalid" | "absent";
            checkDigitRequired: boolean;
            make: string;
            modelYear: number | null;
            modelYearCandidates: number[];
            vin: string;
            wmi: string;
        };
        Webhook: {
            /** Format: date-time */
            createdAt: string;
            deadLetters: number;
            /** @enum {string} */
            disabledReason?: "GONE" | "REQUESTED";
            /** Format: date-time */
            failingSince?: string;
            id: string;
            lastError?: string;
            /** Format: date-time */
            lastSuccessAt?: string;
            /** Format: date-time */
            nextAttemptAt?: string;
            /** Format: date-time */
            previousSecretUntil?: string;
            /** @enum {string} */
            state: "active" | "failing" | "disabled";
            types: ("*" | "reading.*" | "trip.*" | "state.*" | "alarm.*" | "command.*" | "booking.*" | "authorization.*" | "device.*" | "upload.*" | "reading.stored" | "trip.finished" | "trip.changed" | "state.changed" | "alarm.raised" | "alarm.cleared" | "command.ended" | "booking.created" | "booking.changed" | "booking.ended" | "authorization.created" | "authorization.changed" | "authorization.ended" | "device.linked" | "device.unlinked" | "device.connected" | "device.disconnected" | "device.silent" | "upload.quarantined")[];
            url: string;
            vehicleIds?: string[];
            waitingVehicles: number;
        };
        WebhookSecret: {
            id: string;
            secret: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "METHOD_NOT_ALLOWED";
                    };
                };
            };
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED";
                    };
                };
            };
        };
    };
    postBluetoothToken: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    from: string | number;
                    /** @enum {string} */
                    level: "LOCK_UNLOCK" | "DRIVE";
                    until: string | number;
                    userId: string;
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuedAuthorization"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_DATE" | "INVALID_DEVICE" | "INVALID_INTERVAL" | "INVALID_LEVEL" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ARCHIVED";
                    };
                };
            };
        };
    };
    deleteBluetoothToken: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    authorizationId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_AUTHORIZATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getBluetoothTokenByAuthorizationId: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                authorizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Authorization"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_AUTHORIZATION";
                    };
                };
            };
        };
    };
    postBluetoothTokenByAuthorizationId: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path: {
                authorizationId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    from?: string | number | null;
                    until?: string | number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplacedAuthorization"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_DATE" | "INVALID_DEVICE" | "INVALID_INTERVAL" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_AUTHORIZATION" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ARCHIVED";
                    };
                };
            };
        };
    };
    getBluetoothTokenByAuthorizationIdCommands: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                authorizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceCommands"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_DEVICE" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_AUTHORIZATION";
                    };
                };
            };
        };
    };
    getBluetoothTokenByAuthorizationIdParams: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                authorizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BluetoothConnection"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_DEVICE" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_AUTHORIZATION";
                    };
                };
            };
        };
    };
    getBluetoothTokenCommands: {
        parameters: {
            query: {
                authorizationId: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceCommands"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_DEVICE" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_AUTHORIZATION";
                    };
                };
            };
        };
    };
    postBluetoothTokenInvalidate: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    authorizationId: string;
                    until: string | number;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "AUTHORIZATION_EXPIRED" | "AUTHORIZATION_NOT_ACTIVE" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_DATE" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_AUTHORIZATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getBluetoothTokenParams: {
        parameters: {
            query: {
                authorizationId: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BluetoothConnection"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_DEVICE" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_AUTHORIZATION";
                    };
                };
            };
        };
    };
    postBluetoothTokenValidate: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    authorizationId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "AUTHORIZATION_EXPIRED" | "AUTHORIZATION_NOT_ACTIVE" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_SUSPENDED" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_AUTHORIZATION" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ARCHIVED";
                    };
                };
            };
        };
    };
    getBookingById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Booking"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    putBookingById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    from?: string | number | null;
                    until?: string | number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UpdatedBooking"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "BOOKING_EXPIRED" | "INTERNAL_ERROR" | "INVALID_INTERVAL" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "NO_DEVICE" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ARCHIVED" | "VEHICLE_NOT_AVAILABLE";
                    };
                };
            };
        };
    };
    deleteBookingById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        deleted: boolean;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "BOOKING_EXPIRED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postBookingByIdStop: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        stopped: boolean;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "BOOKING_EXPIRED" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getBookings: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Bookings"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    putDevice: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    claimCode?: string | null;
                    deviceId: string;
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_CLAIM_CODE" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_DEVICE" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ALREADY_LINKED" | "VEHICLE_ARCHIVED";
                    };
                };
            };
        };
    };
    postDevice: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    claimCode?: string | null;
                    deviceId: string;
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "DEVICE_ALREADY_LINKED" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_CLAIM_CODE" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_DEVICE" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ALREADY_LINKED" | "VEHICLE_ARCHIVED";
                    };
                };
            };
        };
    };
    deleteDevice: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    deviceId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_DEVICE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postLogin: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    appId: string;
                    appKey: string;
                    password?: string;
                    username?: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Login"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_CREDENTIALS" | "INVALID_PARAMETER" | "METHOD_NOT_ALLOWED" | "OVERLOADED" | "TOO_MANY_REQUESTS" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getParkings: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        parkings: components["schemas"]["ParkingSpot"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    postParkings: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    address: string;
                    address2?: string | null;
                    city: string;
                    country: string;
                    latitude?: number | null;
                    longitude?: number | null;
                    name: string;
                    zipcode: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        parking_id: string;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_ADDRESS" | "MISSING_CITY" | "MISSING_COUNTRY" | "MISSING_NAME" | "MISSING_TOKEN" | "MISSING_ZIPCODE" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getParkingsById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ParkingSpot"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    postParkingsById: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    address?: string | null;
                    address2?: string | null;
                    city?: string | null;
                    country?: string | null;
                    latitude?: number | null;
                    longitude?: number | null;
                    name?: string | null;
                    zipcode?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ParkingSpot"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_ADDRESS" | "MISSING_CITY" | "MISSING_COUNTRY" | "MISSING_NAME" | "MISSING_TOKEN" | "MISSING_ZIPCODE" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteParkingsById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postRefreshToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    appId: string;
                    appKey: string;
                    refresh_token?: string | null;
                    refreshToken?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tokens"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_CREDENTIALS" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "OVERLOADED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getSivFrByPlateOrVin: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                plate_or_vin: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Registration-Sources"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegistrationRecord"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    deleteUserByUserid: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                userid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_ALL_AUTHORIZATIONS_REVOKED" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getUserByUseridAuthorizationsExpired: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                userid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Authorizations"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getUserByUseridAuthorizationsScheduled: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                userid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Authorizations"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getUserByUseridVehicles: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                userid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DriverVehicle"][];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    postUserUpdatePassword: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    newPassword: string;
                    oldPassword: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_OLD_PASSWORD" | "INVALID_PARAMETER" | "INVALID_PASSWORD_LENGTH" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getVehicle: {
        parameters: {
            query?: {
                id?: string;
                plate?: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FleetVehicleDetail"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    putVehicle: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    archived: boolean | (0 | 1) | string;
                    id: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchivedVehicle"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postVehicle: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    plate: string;
                    /** @default  */
                    request?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request_id: string;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteVehicle: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getVehicleById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FleetVehicleDetail"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    postVehicleByIdAccident: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    state: boolean | (0 | 1) | string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        accident: boolean;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ARCHIVED";
                    };
                };
            };
        };
    };
    getVehicleByIdAuthorizationsCurrent: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Authorizations"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleByIdAuthorizationsExpired: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Authorizations"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleByIdAuthorizationsScheduled: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Authorizations"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleByIdBooking: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Bookings"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    postVehicleByIdBooking: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    driver?: string | null;
                    from: string | number;
                    /** @enum {string} */
                    type: "BOOKING" | "FREE_FLOATING";
                    until?: string | number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Booked"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "DRIVER_WITHOUT_ACCOUNT" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_BOOKING_TYPE" | "INVALID_INTERVAL" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "NO_DEVICE" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ARCHIVED" | "VEHICLE_NOT_AVAILABLE";
                    };
                };
            };
        };
    };
    postVehicleByIdBreakdown: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    state: boolean | (0 | 1) | string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        breakdown: boolean;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ARCHIVED";
                    };
                };
            };
        };
    };
    getVehicleByIdCustomcan: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CustomCanReading"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "NO_DATA" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleByIdCustomcanFromByTimestamp: {
        parameters: {
            query?: {
                after?: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
                timestamp: string | number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CustomCanReading"][];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "NO_DATA" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleByIdHistory: {
        parameters: {
            query: {
                after?: string;
                from: string | number;
                limit?: number;
                offset?: number;
                until: string | number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    postVehicleByIdMaintenance: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    state: boolean | (0 | 1) | string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        maintenance: boolean;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ARCHIVED";
                    };
                };
            };
        };
    };
    getVehicleByIdParking: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ParkingSpot"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "NO_PARKING" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    postVehicleByIdParking: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    parkingId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        updated: boolean;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_PARKING" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ARCHIVED";
                    };
                };
            };
        };
    };
    deleteVehicleByIdParking: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getVehicleByIdPosition: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PositionAnswer"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "POSITION_UNKNOWN" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleByIdSiv: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Registration-Sources"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegistrationRecord"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleByIdStatus: {
        parameters: {
            query?: {
                view?: "dynamic" | "fleet";
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CombinedStatus"] | components["schemas"]["VehicleStatus"] | components["schemas"]["FleetVehicleStatus"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "COMMUNICATION_FAILED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "NO_DATA" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    postVehicleByIdStolen: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    state: boolean | (0 | 1) | string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        stolen: boolean;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ARCHIVED";
                    };
                };
            };
        };
    };
    postVehicleByIdTowing: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    state: boolean | (0 | 1) | string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        towing: boolean;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ARCHIVED";
                    };
                };
            };
        };
    };
    getVehicleByIdTrips: {
        parameters: {
            query?: {
                from?: string | number;
                limit?: number;
                offset?: number;
                until?: string | number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trips"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "NO_DATA" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    postVehicleByIdUnavailable: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    state: boolean | (0 | 1) | string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        unavailable: boolean;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ARCHIVED";
                    };
                };
            };
        };
    };
    getVehicleActions: {
        parameters: {
            query: {
                vehicleId: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Actions"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "COMMUNICATION_FAILED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    postVehicleHonk: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "COMMUNICATION_FAILED" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postVehicleImmobilize: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        Status: "LOCKED" | "UNLOCKED";
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "COMMUNICATION_FAILED" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postVehicleLightsOn: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "COMMUNICATION_FAILED" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postVehicleLock: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        Status: "CLOSED" | "OPEN";
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "COMMUNICATION_FAILED" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getVehiclePosition: {
        parameters: {
            query?: {
                plate?: string;
                vehicleId?: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PositionAnswer"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "POSITION_UNKNOWN" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    postVehiclePrivacyOff: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        Privacy: boolean;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ARCHIVED";
                    };
                };
            };
        };
    };
    postVehiclePrivacyOn: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        Privacy: boolean;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ARCHIVED";
                    };
                };
            };
        };
    };
    postVehicleStart: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        Status: "UNLOCKED" | "LOCKED";
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "COMMUNICATION_FAILED" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getVehicleStatus: {
        parameters: {
            query?: {
                plate?: string;
                vehicleId?: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FleetVehicleStatus"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "COMMUNICATION_FAILED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    postVehicleTrunkUnlock: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "COMMUNICATION_FAILED" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postVehicleUnlock: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        Status: "OPEN" | "CLOSED";
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "COMMUNICATION_FAILED" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postVehicleWindowsClose: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "COMMUNICATION_FAILED" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postVehicleWindowsOpen: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "COMMUNICATION_FAILED" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getVehicles: {
        parameters: {
            query?: {
                brand?: string;
                energy?: string;
                from?: string | number;
                gearbox?: "MANUAL" | "AUTOMATIC";
                kind?: string;
                searchType?: "FREE_FLOATING" | "BOOKING";
                until?: string | number;
                view?: "dynamic" | "fleet";
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CombinedVehicle"][] | components["schemas"]["DynamicVehicle"][] | components["schemas"]["FleetVehicle"][];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_INTERVAL" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getVehiclesAuthorizationsCurrent: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Authorizations"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getVehiclesAuthorizationsExpired: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Authorizations"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getVehiclesAuthorizationsScheduled: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Authorizations"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getVehiclesCustomcan: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CustomCanReading"][];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getVehiclesCustomcanFromByTimestamp: {
        parameters: {
            query?: {
                after?: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                timestamp: string | number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CustomCanReading"][];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getVehiclesHistory: {
        parameters: {
            query: {
                after?: string;
                from: string | number;
                limit?: number;
                offset?: number;
                until: string | number;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getVehiclesStatus: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VehicleStatus"][];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getAdminApplications: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        applications: components["schemas"]["Application"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED";
                    };
                };
            };
        };
    };
    postAdminApplications: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApplicationKey"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminApplicationsByAppId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApplicationSettings"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    putAdminApplicationsByAppId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    deviceBytesPerSecond?: number | null;
                    deviceUploadsPerSecond?: number | null;
                    tariffPerKm?: number | null;
                    tariffPerMinute?: number | null;
                    timeZone?: string | null;
                    version?: string | null;
                    view?: ("dynamic" | "fleet" | "combined") | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApplicationSettings"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "CHANGED_MEANWHILE" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteAdminApplicationsByAppId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postAdminApplicationsByAppIdKey: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @default 24 */
                    overlapHours?: number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApplicationKey"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteAdminApplicationsByAppIdSessions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ended: number;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminAudit: {
        parameters: {
            query?: {
                after?: number;
                appId?: string;
                from?: string | number;
                limit?: number;
                order?: "oldest" | "newest";
                search?: string;
                until?: string | number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        audit: components["schemas"]["AuditRow"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getAdminAuditVerify: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        chains: components["schemas"]["AuditVerdict"][];
                        ok: boolean;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED";
                    };
                };
            };
        };
    };
    getAdminCanDatabases: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        databases: components["schemas"]["CanDatabase"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED";
                    };
                };
            };
        };
    };
    putAdminCanDatabasesByName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    base64?: string | null;
                    file?: string | null;
                    shipped?: ("obd2" | "j1939") | null;
                    /** @default false */
                    skipFaulty?: boolean | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CanDatabaseImport"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteAdminCanDatabasesByName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postAdminCanRedecodings: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    from?: string | number | null;
                    model: string;
                    until?: string | number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CanRedecoding"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_INTERVAL" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminCanRedecodingsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CanRedecoding"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED";
                    };
                };
            };
        };
    };
    getAdminDeviceConnection: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceConnection"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED";
                    };
                };
            };
        };
    };
    postAdminDeviceImports: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @default false */
                    check?: boolean | null;
                    csv: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceImport"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postAdminDeviceKeysReseal: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resealed"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminDeviceModels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        models: components["schemas"]["DeviceModel"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED";
                    };
                };
            };
        };
    };
    getAdminDeviceModelsByName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceModel"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED";
                    };
                };
            };
        };
    };
    putAdminDeviceModelsByName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    actions?: ("IMMOBILIZE" | "START" | "LOCK" | "UNLOCK" | "HONK" | "TURNING-LIGHTS" | "UNLOCK-TRUNK" | "OPEN-WINDOWS" | "CLOSE-WINDOWS" | "STATUS")[] | null;
                    bluetooth: boolean;
                    commands?: {
                        "CLOSE-WINDOWS"?: {
                            flespi?: {
                                name: string;
                                properties: {
                                    [key: string]: unknown;
                                };
                            };
                            refusal: string[];
                            success?: string[];
                            text?: string;
                        };
                        HONK?: {
                            flespi?: {
                                name: string;
                                properties: {
                                    [key: string]: unknown;
                                };
                            };
                            refusal: string[];
                            success?: string[];
                            text?: string;
                        };
                        IMMOBILIZE?: {
                            flespi?: {
                                name: string;
                                properties: {
                                    [key: string]: unknown;
                                };
                            };
                            refusal: string[];
                            success?: string[];
                            text?: string;
                        };
                        LOCK?: {
                            flespi?: {
                                name: string;
                                properties: {
                                    [key: string]: unknown;
                                };
                            };
                            refusal: string[];
                            success?: string[];
                            text?: string;
                        };
                        "OPEN-WINDOWS"?: {
                            flespi?: {
                                name: string;
                                properties: {
                                    [key: string]: unknown;
                                };
                            };
                            refusal: string[];
                            success?: string[];
                            text?: string;
                        };
                        START?: {
                            flespi?: {
                                name: string;
                                properties: {
                                    [key: string]: unknown;
                                };
                            };
                            refusal: string[];
                            success?: string[];
                            text?: string;
                        };
                        STATUS?: {
                            flespi?: {
                                name: string;
                                properties: {
                                    [key: string]: unknown;
                                };
                            };
                            refusal: string[];
                            success?: string[];
                            text?: string;
                        };
                        "TURNING-LIGHTS"?: {
                            flespi?: {
                                name: string;
                                properties: {
                                    [key: string]: unknown;
                                };
                            };
                            refusal: string[];
                            success?: string[];
                            text?: string;
                        };
                        UNLOCK?: {
                            flespi?: {
                                name: string;
                                properties: {
                                    [key: string]: unknown;
                                };
                            };
                            refusal: string[];
                            success?: string[];
                            text?: string;
                        };
                        "UNLOCK-TRUNK"?: {
                            flespi?: {
                                name: string;
                                properties: {
                                    [key: string]: unknown;
                                };
                            };
                            refusal: string[];
                            success?: string[];
                            text?: string;
                        };
                    } | null;
                    digitalOutputs: {
                        closeWindows?: number;
                        demobilize?: number;
                        honk?: number;
                        immobilize?: number;
                        lock?: number;
                        openWindows?: number;
                        turningLights?: number;
                        unlock?: number;
                        unlockTrunk?: number;
                    };
                    encryptedCommands: ("immobilize" | "demobilize" | "lock" | "unlock" | "honk" | "turningLights" | "unlockTrunk" | "openWindows" | "closeWindows" | "readio")[];
                    family?: ("fmb" | "ftc" | "tat" | "fmx6") | null;
                    proprietaryCan: boolean;
                    /** @default mqtt */
                    protocol?: ("mqtt" | "teltonika" | "source") | null;
                    scenarii: {
                        crash_detection?: string;
                        gnss_jamming?: string;
                        gps_jamming?: string;
                        towing_detection?: string;
                    };
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceModel"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminDevices: {
        parameters: {
            query?: {
                after?: string;
                appId?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        devices: components["schemas"]["ListedDevice"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    postAdminDevices: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    appId?: string | null;
                    /** @default  */
                    bluetoothName?: string | null;
                    /** @default  */
                    bluetoothPin?: string | null;
                    id: string;
                    model: string;
                    vehicleId?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewDevice"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "ALREADY_EXISTS" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ALREADY_LINKED" | "VEHICLE_ARCHIVED";
                    };
                };
            };
        };
    };
    deleteAdminDevicesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_DEVICE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteAdminDevicesByIdCertificates: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_DEVICE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminDevicesByIdKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceKeyState"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_DEVICE";
                    };
                };
            };
        };
    };
    postAdminDevicesByIdKey: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceKey"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_DEVICE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    putAdminDevicesByIdLink: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    fromVehicleId?: string | null;
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "CHANGED_MEANWHILE" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_DEVICE" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ALREADY_LINKED" | "VEHICLE_ARCHIVED";
                    };
                };
            };
        };
    };
    postAdminDevicesByIdLink: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "DEVICE_ALREADY_LINKED" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_DEVICE" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE" | "VEHICLE_ALREADY_LINKED" | "VEHICLE_ARCHIVED";
                    };
                };
            };
        };
    };
    deleteAdminDevicesByIdLink: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    vehicleId?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "CHANGED_MEANWHILE" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_DEVICE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postAdminDevicesByIdRelease: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReleasedDevice"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_DEVICE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postAdminDevicesByIdSecret: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @default 0 */
                    overlapSeconds?: number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceSecret"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_DEVICE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteAdminDevicesByIdTokens: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        epoch: number;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_DEVICE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminGbfsByAppId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GbfsPublicationSettings"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    putAdminGbfsByAppId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    geofencing?: {
                        globalRules: {
                            maximum_speed_kph?: number;
                            ride_end_allowed: boolean;
                            ride_start_allowed: boolean;
                            ride_through_allowed: boolean;
                            station_parking?: boolean;
                            vehicle_type_ids?: string[];
                        }[];
                        zones: {
                            /** Format: date-time */
                            end?: string;
                            /** Format: uuid */
                            geofenceId: string;
                            name?: {
                                language: string;
                                text: string;
                            }[];
                            rules?: {
                                maximum_speed_kph?: number;
                                ride_end_allowed: boolean;
                                ride_start_allowed: boolean;
                                ride_through_allowed: boolean;
                                station_parking?: boolean;
                                vehicle_type_ids?: string[];
                            }[];
                            /** Format: date-time */
                            start?: string;
                        }[];
                    } | null;
                    positionMaxAgeMinutes?: number | null;
                    pricingPlans?: {
                        currency: string;
                        description: {
                            language: string;
                            text: string;
                        }[];
                        is_taxable: boolean;
                        name: {
                            language: string;
                            text: string;
                        }[];
                        per_km_pricing?: {
                            end?: number;
                            interval: number;
                            rate: number;
                            start: number;
                        }[];
                        per_min_pricing?: {
                            end?: number;
                            interval: number;
                            rate: number;
                            start: number;
                        }[];
                        plan_id: string;
                        price: number;
                        surge_pricing?: boolean;
                        /** Format: uri */
                        url?: string;
                    }[] | null;
                    publicUrl: string;
                    stationRadiusMetres?: number | null;
                    stations: ("all" | "none") | string[];
                    system: {
                        attribution_organization_name?: {
                            language: string;
                            text: string;
                        }[];
                        /** Format: uri */
                        attribution_url?: string;
                        /** Format: email */
                        email?: string;
                        /** Format: email */
                        feed_contact_email: string;
                        languages: string[];
                        license_id?: string;
                        /** Format: uri */
                        license_url?: string;
                        /** Format: uri */
                        manifest_url?: string;
                        name: {
                            language: string;
                            text: string;
                        }[];
                        opening_hours: string;
                        operator?: {
                            language: string;
                            text: string;
                        }[];
                        phone_number?: string;
                        /** Format: date */
                        privacy_last_updated?: string;
                        privacy_url?: {
                            language: string;
                            /** Format: uri */
                            text: string;
                        }[];
                        /** Format: uri */
                        purchase_url?: string;
                        rental_apps?: {
                            android?: {
                                /** Format: uri */
                                discovery_uri: string;
                                /** Format: uri */
                                store_uri: string;
                            };
                            ios?: {
                                /** Format: uri */
                                discovery_uri: string;
                                /** Format: uri */
                                store_uri: string;
                            };
                        };
                        short_name?: {
                            language: string;
                            text: string;
                        }[];
                        /** Format: date */
                        start_date?: string;
                        system_id: string;
                        /** Format: date */
                        termination_date?: string;
                        /** Format: date */
                        terms_last_updated?: string;
                        terms_url?: {
                            language: string;
                            /** Format: uri */
                            text: string;
                        }[];
                        timezone: string;
                        /** Format: uri */
                        url?: string;
                    };
                    ttlSeconds?: number | null;
                    vehicleIds?: string[] | null;
                    vehicleTypes: {
                        cargo_load_capacity?: number;
                        cargo_volume_capacity?: number;
                        color?: string;
                        default_pricing_plan_id?: string;
                        default_reserve_time?: number;
                        description?: {
                            language: string;
                            text: string;
                        }[];
                        eco_labels?: {
                            country_code: string;
                            eco_sticker: string;
                        }[];
                        /** @enum {unknown} */
                        form_factor: "bicycle" | "cargo_bicycle" | "car" | "moped" | "scooter_standing" | "scooter_seated" | "other";
                        g_CO2_km?: number;
                        make?: {
                            language: string;
                            text: string;
                        }[];
                        match?: {
                            brand?: string;
                            energy?: string;
                            kind?: string;
                            model?: string;
                        };
                        max_permitted_speed?: number;
                        max_range_meters?: number;
                        model?: {
                            language: string;
                            text: string;
                        }[];
                        name?: {
                            language: string;
                            text: string;
                        }[];
                        pricing_plan_ids?: string[];
                        /** @enum {unknown} */
                        propulsion_type: "human" | "electric_assist" | "electric" | "combustion" | "combustion_diesel" | "hybrid" | "plug_in_hybrid" | "hydrogen_fuel_cell";
                        rangeIfUnknownMeters?: number;
                        rated_power?: number;
                        /** @enum {unknown} */
                        return_constraint?: "free_floating" | "roundtrip_station" | "any_station" | "hybrid";
                        rider_capacity?: number;
                        vehicle_accessories?: ("air_conditioning" | "automatic" | "manual" | "convertible" | "cruise_control" | "navigation" | "doors_2" | "doors_3")[];
                        /** Format: uri */
                        vehicle_image?: string;
                        vehicle_type_id: string;
                        wheel_count?: number;
                    }[];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GbfsPublication"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "ALREADY_EXISTS" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteAdminGbfsByAppId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminGbfsByAppIdVehicles: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        hidden: {
                            plate: string;
                            /** @enum {string} */
                            reason: "OUT_OF_SERVICE" | "PRIVATE" | "NO_DEVICE" | "BOOKED" | "AUTHORIZED" | "POSITION_UNKNOWN" | "SILENT" | "MOVING" | "NO_TYPE" | "RANGE_UNKNOWN";
                            vehicleId: string;
                        }[];
                        published: number;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    postAdminImport: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    appId?: string | null;
                    deviceId?: string | null;
                    /** @default false */
                    first?: boolean | null;
                    readings: unknown[];
                    vehicleId?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportedReadings"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_DEVICE" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminOperators: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        operators: components["schemas"]["ListedOperator"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED";
                    };
                };
            };
        };
    };
    postAdminOperators: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @default [] */
                    appIds?: string[] | null;
                    /** @default false */
                    mustChangePassword?: boolean | null;
                    name: string;
                    /** @enum {string} */
                    role: "viewer" | "operator" | "administrator";
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorPassword"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "ALREADY_EXISTS" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    putAdminOperatorsByName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    appIds?: string[] | null;
                    role?: ("viewer" | "operator" | "administrator") | null;
                    version?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListedOperator"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "CHANGED_MEANWHILE" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "LAST_ADMINISTRATOR" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_USER" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteAdminOperatorsByName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "LAST_ADMINISTRATOR" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_USER" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postAdminOperatorsByNamePassword: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorPassword"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_USER" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteAdminOperatorsByNameSessions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_USER" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminPersonsById: {
        parameters: {
            query?: {
                appId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PersonExport"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_USER";
                    };
                };
            };
        };
    };
    postAdminPersonsByIdErase: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    appId?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasedPerson"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_ALL_AUTHORIZATIONS_REVOKED" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_USER" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminPipeline: {
        parameters: {
            query?: {
                from?: string | number;
                points?: number;
                until?: string | number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        points: components["schemas"]["PipelinePoint"][];
                        stepSeconds: number;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED";
                    };
                };
            };
        };
    };
    getAdminQuarantine: {
        parameters: {
            query?: {
                after?: number;
                deviceId?: string;
                limit?: number;
                open?: boolean | (0 | 1) | string;
                order?: "oldest" | "newest";
                reason?: string;
                vehicleId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        quarantine: components["schemas"]["QuarantinedUpload"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getAdminQuarantineById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QuarantinedUpload"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED";
                    };
                };
            };
        };
    };
    postAdminQuarantineByIdOpen: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        base64: string;
                        deviceId: string;
                        id: string;
                        readings: unknown[];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postAdminQuarantineDismiss: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    ids: string[];
                    reason: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        dismissed: number;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminQuarantineReasons: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        reasons: components["schemas"]["QuarantineReason"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED";
                    };
                };
            };
        };
    };
    postAdminQuarantineReplay: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    all?: true | null;
                    ids?: string[] | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        replayed: number;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postAdminQuarantineReseal: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resealed"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminRegistrationFields: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        fields: {
                            [key: string]: string;
                        };
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED";
                    };
                };
            };
        };
    };
    getAdminRegistrationImportsByFileSha256: {
        parameters: {
            query?: {
                appId?: string;
                faults?: number;
            };
            header?: never;
            path: {
                file_sha256: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportState"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    deleteAdminRegistrationImportsByFileSha256: {
        parameters: {
            query?: {
                appId?: string;
            };
            header?: never;
            path: {
                file_sha256: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postAdminRegistrations: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    appId?: string | null;
                    fileSha256: string;
                    /** @default false */
                    last?: boolean | null;
                    position: number;
                    rows: {
                        fault?: string;
                        line: number;
                        record?: unknown;
                    }[];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        position: number;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminRegistrationsByPlateOrVin: {
        parameters: {
            query?: {
                appId?: string;
            };
            header?: never;
            path: {
                plate_or_vin: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExplainedRegistration"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    deleteAdminRegistrationsByPlateOrVin: {
        parameters: {
            query?: {
                appId?: string;
            };
            header?: never;
            path: {
                plate_or_vin: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        removed: number;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminRequests: {
        parameters: {
            query?: {
                after?: string;
                appId?: string;
                limit?: number;
                state?: "pending" | "approved" | "declined";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        requests: components["schemas"]["VehicleRequest"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    postAdminRequestsByIdApprove: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @default [] */
                    accessories?: ("TEMPERATURE-SENSOR" | "CARDHOLDER" | "KEY-DETECTOR")[] | null;
                    /** @default  */
                    brand?: string | null;
                    /** @default  */
                    energy?: string | null;
                    /** @default  */
                    gearbox?: ("" | "AUTOMATIC" | "MANUAL") | null;
                    /** @default  */
                    kind?: string | null;
                    /** @default  */
                    model?: string | null;
                    plate?: string | null;
                    /** @default 0 */
                    seats?: number | null;
                    /** @default  */
                    vin?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "ALREADY_DECIDED" | "ALREADY_EXISTS" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postAdminRequestsByIdDecline: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    reason: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "ALREADY_DECIDED" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminSources: {
        parameters: {
            query?: {
                appId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        sources: components["schemas"]["ListedSource"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    postAdminSources: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    appId: string;
                    commandToken?: string | null;
                    /** @default false */
                    createDevices?: boolean | null;
                    /** @enum {string} */
                    format: "traccar" | "flespi" | "tesla" | "owntracks" | "osmand";
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SourceSecret"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteAdminSourcesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    putAdminSourcesByIdCommandToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    token: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteAdminSourcesByIdCommandToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postAdminSourcesByIdSecret: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @default 24 */
                    overlapHours?: number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SourceSecret"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postAdminSourcesReseal: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resealed"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminUsers: {
        parameters: {
            query: {
                appId: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        users: components["schemas"]["User"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    postAdminUsers: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    appId: string;
                    /** @default false */
                    mustChangePassword?: boolean | null;
                    password: string;
                    username: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        userId: string;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "ALREADY_EXISTS" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_PASSWORD_LENGTH" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteAdminUsersByUserId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_USER" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postAdminUsersByUserIdPassword: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @default true */
                    mustChangePassword?: boolean | null;
                    password: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_PASSWORD_LENGTH" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_USER" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteAdminUsersByUserIdSessions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_USER" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postAdminUsersByUserIdVehicles: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    fromRole?: ("viewer" | "driver" | "manager") | null;
                    /** @default driver */
                    role?: ("viewer" | "driver" | "manager") | null;
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "CHANGED_MEANWHILE" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_USER" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteAdminUsersByUserIdVehiclesByVehicleId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
                vehicleId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_USER" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminVehicles: {
        parameters: {
            query: {
                after?: number;
                appId: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        vehicles: components["schemas"]["OperatedVehicle"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    postAdminVehicles: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @default [] */
                    accessories?: ("TEMPERATURE-SENSOR" | "CARDHOLDER" | "KEY-DETECTOR")[] | null;
                    appId: string;
                    /** @default  */
                    brand?: string | null;
                    /** @default  */
                    energy?: string | null;
                    /** @default  */
                    gearbox?: ("" | "AUTOMATIC" | "MANUAL") | null;
                    /** @default  */
                    kind?: string | null;
                    /** @default  */
                    model?: string | null;
                    plate: string;
                    /** @default 0 */
                    seats?: number | null;
                    /** @default  */
                    vin?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "ALREADY_EXISTS" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    putAdminVehiclesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    tankLitres: number;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        tankLitres: number;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAdminVehiclesByIdExport: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/x-ndjson": string;
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getAlarmRules: {
        parameters: {
            query?: {
                after?: string;
                limit?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        rules: components["schemas"]["AlarmRule"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    postAlarmRules: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    kind: "towing" | "crash" | "jamming" | "silent" | "low-battery" | "geofence" | "speed" | "unanswered-command";
                    name: string;
                    parameters?: {
                        afterMinutes?: number;
                        belowPercent?: number;
                        belowVolts?: number;
                        canKey?: string;
                        geofenceId?: string;
                        limitKmh?: number;
                        /** @enum {string} */
                        when?: "inside" | "outside";
                    } | null;
                    vehicleIds?: string[] | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    putAlarmRulesById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    kind: "towing" | "crash" | "jamming" | "silent" | "low-battery" | "geofence" | "speed" | "unanswered-command";
                    name: string;
                    parameters?: {
                        afterMinutes?: number;
                        belowPercent?: number;
                        belowVolts?: number;
                        canKey?: string;
                        geofenceId?: string;
                        limitKmh?: number;
                        /** @enum {string} */
                        when?: "inside" | "outside";
                    } | null;
                    vehicleIds?: string[] | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteAlarmRulesById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getAlarms: {
        parameters: {
            query?: {
                acknowledged?: boolean;
                after?: string;
                from?: string | number;
                kind?: "towing" | "crash" | "jamming" | "silent" | "low-battery" | "geofence" | "speed" | "unanswered-command";
                limit?: number;
                ruleId?: string;
                state?: "open" | "cleared";
                until?: string | number;
                vehicleId?: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        alarms: components["schemas"]["Alarm"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    postAlarmsByIdAcknowledge: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    note?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alarm"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "ALREADY_ACKNOWLEDGED" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getCalendar: {
        parameters: {
            query: {
                after?: string;
                from: string | number;
                limit?: number;
                until: string | number;
                vehicleId?: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Calendar"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_INTERVAL" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getChanges: {
        parameters: {
            query?: {
                after?: string;
                limit?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changes"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getCommands: {
        parameters: {
            query: {
                limit?: number;
                vehicleId: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Commands"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getDeviceTable: {
        parameters: {
            query?: {
                after?: string;
                appId?: string;
                connected?: boolean | (0 | 1) | string;
                limit?: number;
                linked?: boolean | (0 | 1) | string;
                model?: string;
                q?: string;
                quarantined?: boolean | (0 | 1) | string;
                sort?: "deviceId" | "model" | "appId" | "plate" | "createdAt" | "secretIssuedAt" | "lastUpload" | "quarantined" | "-deviceId" | "-model" | "-appId" | "-plate" | "-createdAt" | "-secretIssuedAt" | "-lastUpload" | "-quarantined";
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceTable"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getDeviceDetail: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceDetail"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_DEVICE";
                    };
                };
            };
        };
    };
    getEvents: {
        parameters: {
            query?: {
                bbox?: string;
                once?: boolean;
                types?: string;
                vehicles?: string;
                zoom?: number;
            };
            header?: {
                "Last-Event-Id"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["LiveResetEvent"] | components["schemas"]["LiveSnapshotEvent"] | components["schemas"]["LiveChangesEvent"] | components["schemas"]["LiveCellsEvent"] | components["schemas"]["LiveCommandEvent"] | components["schemas"]["LiveAlarmEvent"] | components["schemas"]["ReadingStoredEvent"] | components["schemas"]["TripFinishedEvent"] | components["schemas"]["TripChangedEvent"] | components["schemas"]["StateChangedEvent"] | components["schemas"]["AlarmRaisedEvent"] | components["schemas"]["AlarmClearedEvent"] | components["schemas"]["CommandEndedEvent"] | components["schemas"]["BookingCreatedEvent"] | components["schemas"]["BookingChangedEvent"] | components["schemas"]["BookingEndedEvent"] | components["schemas"]["AuthorizationCreatedEvent"] | components["schemas"]["AuthorizationChangedEvent"] | components["schemas"]["AuthorizationEndedEvent"] | components["schemas"]["DeviceLinkedEvent"] | components["schemas"]["DeviceUnlinkedEvent"] | components["schemas"]["DeviceConnectedEvent"] | components["schemas"]["DeviceDisconnectedEvent"] | components["schemas"]["DeviceSilentEvent"] | components["schemas"]["UploadQuarantinedEvent"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getExports: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExportJobs"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    postExports: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    fields?: string | null;
                    /** @enum {string} */
                    format: "csv" | "ndjson" | "gpx" | "geojson" | "parquet";
                    from: string | number;
                    of?: ("readings" | "trips" | "gaps") | null;
                    until: string | number;
                    vehicleId?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExportJob"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_INTERVAL" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getExportsById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExportJob"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    deleteExportsById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getExportsByIdFile: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/geo+json": string;
                    "application/gpx+xml": string;
                    "application/vnd.apache.parquet": string;
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/geo+json": string;
                    "application/gpx+xml": string;
                    "application/vnd.apache.parquet": string;
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "NO_DATA" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getGbfsBySystemIdByFile: {
        parameters: {
            query?: never;
            header?: {
                "If-None-Match"?: string;
            };
            path: {
                file: "gbfs.json" | "gbfs_versions.json" | "system_information.json" | "vehicle_types.json" | "vehicle_status.json" | "station_information.json" | "station_status.json" | "system_pricing_plans.json" | "geofencing_zones.json";
                systemId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GbfsFeed"];
                };
            };
            304: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "METHOD_NOT_ALLOWED" | "NOT_FOUND" | "OVERLOADED" | "TOO_MANY_REQUESTS";
                    };
                };
            };
        };
    };
    getGeofences: {
        parameters: {
            query?: {
                after?: string;
                limit?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        geofences: components["schemas"]["Geofence"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    postGeofences: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    geometry: components["schemas"]["GeofenceCentre"] | components["schemas"]["GeofencePolygon"];
                    name: string;
                    radiusMetres?: number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    putGeofencesById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    geometry: components["schemas"]["GeofenceCentre"] | components["schemas"]["GeofencePolygon"];
                    name: string;
                    radiusMetres?: number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteGeofencesById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "IN_USE" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getMap: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MapSettings"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedInPerson"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS";
                    };
                };
            };
        };
    };
    postSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    appId?: string;
                    name?: string | null;
                    password: string;
                    username?: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedInPerson"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_CREDENTIALS" | "INVALID_PARAMETER" | "METHOD_NOT_ALLOWED" | "OVERLOADED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postSessionPassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    currentPassword: string;
                    newPassword: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_OLD_PASSWORD" | "INVALID_PARAMETER" | "INVALID_PASSWORD_LENGTH" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteSessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getVehicleByIdAccess: {
        parameters: {
            query?: {
                ended?: boolean | (0 | 1) | string;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VehicleAccess"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleByIdBreaks: {
        parameters: {
            query: {
                from: string | number;
                until: string | number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        breaks: components["schemas"]["Break"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_INTERVAL" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleByIdExport: {
        parameters: {
            query: {
                fields?: string;
                format: "csv" | "ndjson" | "gpx" | "geojson" | "parquet";
                from: string | number;
                of?: "readings" | "trips" | "gaps";
                until: string | number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/geo+json": string;
                    "application/gpx+xml": string;
                    "application/vnd.apache.parquet": string;
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_INTERVAL" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleByIdFields: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Fields"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleByIdGaps: {
        parameters: {
            query?: {
                days?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        gaps: components["schemas"]["Gap"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleByIdLinks: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        links: components["schemas"]["VehicleLink"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleByIdReadings: {
        parameters: {
            query?: {
                before?: string | number;
                limit?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        readings: components["schemas"]["RecordedReading"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleByIdSeries: {
        parameters: {
            query: {
                fields: string;
                from: string | number;
                points?: number;
                until: string | number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SeriesAnswer"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_INTERVAL" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleByIdTrail: {
        parameters: {
            query: {
                from: string | number;
                points?: number;
                until: string | number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trail"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_INTERVAL" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleByIdTripsByTripIdTrack: {
        parameters: {
            query?: {
                format?: "geojson" | "gpx";
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
                tripId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/geo+json": components["schemas"]["Track"];
                    "application/gpx+xml": string;
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleByIdValues: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        values: components["schemas"]["LatestValue"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE";
                    };
                };
            };
        };
    };
    getVehicleTable: {
        parameters: {
            query?: {
                after?: string;
                appId?: string;
                brand?: string;
                columns?: string;
                energy?: string;
                flag?: "towing" | "accident" | "maintenance" | "breakdown" | "stolen" | "unavailable";
                format?: "json" | "csv";
                limit?: number;
                model?: string;
                q?: string;
                sort?: "plate" | "vin" | "brand" | "model" | "energy" | "appId" | "deviceId" | "state" | "id" | "lastContact" | "time" | "speed" | "mileage" | "soc" | "range" | "parkedSince" | "-plate" | "-vin" | "-brand" | "-model" | "-energy" | "-appId" | "-deviceId" | "-state" | "-id" | "-lastContact" | "-time" | "-speed" | "-mileage" | "-soc" | "-range" | "-parkedSince";
                state?: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VehicleTable"];
                    "text/csv": string;
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getVehiclesExport: {
        parameters: {
            query: {
                fields?: string;
                format: "csv" | "ndjson" | "gpx" | "geojson" | "parquet";
                from: string | number;
                of?: "readings" | "trips" | "gaps";
                until: string | number;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/geo+json": string;
                    "application/gpx+xml": string;
                    "application/vnd.apache.parquet": string;
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_INTERVAL" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getWebhooks: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        webhooks: components["schemas"]["Webhook"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    postWebhooks: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    types: ("*" | "reading.*" | "trip.*" | "state.*" | "alarm.*" | "command.*" | "booking.*" | "authorization.*" | "device.*" | "upload.*" | "reading.stored" | "trip.finished" | "trip.changed" | "state.changed" | "alarm.raised" | "alarm.cleared" | "command.ended" | "booking.created" | "booking.changed" | "booking.ended" | "authorization.created" | "authorization.changed" | "authorization.ended" | "device.linked" | "device.unlinked" | "device.connected" | "device.disconnected" | "device.silent" | "upload.quarantined")[];
                    url: string;
                    vehicleIds?: string[] | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookSecret"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getWebhooksById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    putWebhooksById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @default true */
                    enabled?: boolean | null;
                    types: ("*" | "reading.*" | "trip.*" | "state.*" | "alarm.*" | "command.*" | "booking.*" | "authorization.*" | "device.*" | "upload.*" | "reading.stored" | "trip.finished" | "trip.changed" | "state.changed" | "alarm.raised" | "alarm.cleared" | "command.ended" | "booking.created" | "booking.changed" | "booking.ended" | "authorization.created" | "authorization.changed" | "authorization.ended" | "device.linked" | "device.unlinked" | "device.connected" | "device.disconnected" | "device.silent" | "upload.quarantined")[];
                    url: string;
                    vehicleIds?: string[] | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNKNOWN_VEHICLE" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    deleteWebhooksById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    getWebhooksByIdDeadLetters: {
        parameters: {
            query?: {
                after?: string;
                limit?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        deadLetters: components["schemas"]["DeadLetter"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    getWebhooksByIdDeliveries: {
        parameters: {
            query?: {
                after?: string;
                eventId?: string;
                failed?: boolean;
                limit?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        deliveries: components["schemas"]["Delivery"][];
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION";
                    };
                };
            };
        };
    };
    postWebhooksByIdReplay: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    eventIds?: string[] | null;
                    from?: string | number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Replaying"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postWebhooksByIdRotate: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookSecret"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
    postWebhooksByIdTest: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestDelivery"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"] & {
                        /** @enum {unknown} */
                        error: "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "INTERNAL_ERROR" | "INVALID_PARAMETER" | "INVALID_TOKEN" | "METHOD_NOT_ALLOWED" | "MISSING_TOKEN" | "NOT_FOUND" | "OVERLOADED" | "PASSWORD_CHANGE_REQUIRED" | "TOKEN_EXPIRED" | "TOO_MANY_REQUESTS" | "UNAUTHORIZED" | "UNKNOWN_APPLICATION" | "UNSUPPORTED_MEDIA_TYPE";
                    };
                };
            };
        };
    };
}
